import Foundation
import TestOrigin
import TestSupport

/// The site of the guides, <https://www.example.com> with all its hosts, on loopback, and a folder in which examples run.
struct ExampleSite {
  /// Where examples run; also their home.
  let work = TemporaryDirectory()
  /// What the site serves, under every host name.
  private let served = TemporaryDirectory()
  private let tools = TemporaryDirectory()
  private let certificates: Certificates
  private let nginx: Nginx
  private let proxy: TestProxy

  init() async throws {
    certificates = try await Certificates(hosts: ["*.example.com"])
    nginx = try await Nginx(serving: served.path, logsRequests: false, tls: .init(certificates))
    proxy = TestProxy(target: nginx.port)
    for (path, fixture) in Self.images { served.write(Fixtures.bytes("images/\(fixture)"), to: path) }
    served.write(sitemap, to: "sitemap.xml")
    served.write(page, to: "index.html")
    let good = Self.images.filter { $0.fixture.hasPrefix("good/") }.map(\.path)
    let products = good.filter { $0.hasPrefix("products/") }
    work.write(good.filter { !products.contains($0) }.map { "https://img.example.com/\($0)\n" }.joined(), to: "urls.txt")
    work.write("sku,image\n" + products.map { "\($0.split(separator: "/")[1]),\($0)\n" }.joined(), to: "catalog.csv")
    work.write(readFile("\(Repository.path)/jobs/urls/access.log") ?? [], to: "access.log")
    let options = "--set request.proxy=http://127.0.0.1:\(proxy.port) --set 'request.tls.ca-file=\(certificates.authority)'"
    tools.write(
      """
      #!/bin/sh
      case $1 in
      run | check) set -- "$@" --progress none \(options) ;;
      shards) if [ "$2" = run ]; then set -- "$@" --progress none \(options); fi ;;
      esac
      exec '\(BuiltCommand.path)' "$@"

      """,
      to: "prewarm"
    )
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: tools.file("prewarm"))
  }

  /// Runs a script as a reader's shell does, in which a command that fails ends it.
  func run(_ script: String) async throws -> (status: Int?, output: String) {
    var variables = ProcessInfo.processInfo.environment.mapValues { _ -> String? in nil }
    for name in ["TMPDIR", "LANG", "LD_LIBRARY_PATH"] { variables[name] = ProcessInfo.processInfo.environment[name] }
    variables["PATH"] = "\(tools.path):/usr/bin:/bin"
    variables["HOME"] = work.path
    variables["SITE"] = served.path
    variables["COLUMNS"] = "96"
    // Secrets of examples.
    for name in ["TOKEN", "API_PASSWORD"] { variables[name] = "secret" }
    let command = try Command(
      "/bin/bash",
      ["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", "exec 2>&1\n" + script],
      environment: variables,
      workingDirectory: work.path
    )
    let result = try await command.wait()
    return (result.status, global(result.outputText))
  }

  /// An output with the guides' addresses, without a line feed at its end.
  private func global(_ output: String) -> String {
    var text = output.replacing(work.path, with: "/home/me")
    while text.last?.isNewline == true { text.removeLast() }
    return text
  }

  /// What the site has: ten good images of its pages, one that is an HTML page; `hero/winter.jpg`, which its sitemap names, is missing.
  private static let images: [(path: String, fixture: String)] = [
    ("hero/spring.jpg", "good/photo.jpg"), ("hero/summer.jpg", "good/progressive.jpg"), ("hero/autumn.webp", "good/lossy.webp"),
    ("products/1001/front.jpg", "good/photo-small.jpg"), ("products/1001/back.jpg", "good/restart-444.jpg"),
    ("products/1002/front.jpg", "good/rotated.jpg"), ("products/1002/spin.gif", "good/animation.gif"),
    ("products/1003/front.jpg", "good/tall-chroma.jpg"), ("products/1004/front.png", "good/rgba.png"),
    ("logo.png", "good/palette.png"), ("products/1005/front.jpg", "broken/page.jpg"),
  ]

  /// The start page, which shows heroes and the logo.
  private var page: String {
    """
    <!doctype html>
    <html lang="en">
      <title>Example</title>
      <link rel="icon" href="/logo.png">
      <img src="https://img.example.com/hero/spring.jpg" width="640" height="320" alt="Spring">
      <img srcset="https://img.example.com/hero/summer.jpg 2000w" sizes="100vw" src="https://img.example.com/hero/autumn.webp" alt="Summer">
    </html>

    """
  }

  private var sitemap: String {
    let pages = (Self.images.map(\.path) + ["hero/winter.jpg"]).map { path in
      """
        <url>
          <loc>https://www.example.com/\(path.split(separator: ".")[0])</loc>
          <image:image><image:loc>https://img.example.com/\(path)</image:loc></image:image>
        </url>
      """
    }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
      \(pages.joined(separator: "\n"))
      </urlset>

      """
  }
}
