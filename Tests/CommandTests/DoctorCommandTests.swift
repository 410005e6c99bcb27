import Foundation
import TestOrigin
import TestSupport
import Testing

/// `prewarm doctor`, and the CA certificates that it names.
@Suite struct DoctorCommandTests {
  private let job = JobFolder(urls: [])

  @Test func `doctor names what bug reports need, as text and as JSON`() async throws {
    let (text, json) = (try await job.prewarm("doctor"), try await job.prewarm("doctor --json"))
    #expect(text.status == 0 && json.status == 0, "\(text.outputText)")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output)) as? [String: Any])
    #expect((object["prewarm"] as? String)?.hasPrefix("0.") == true && object["HTTP/2"] as? String == "yes")
    #expect((object["libcurl"] as? String)?.hasPrefix("libcurl/") == true)
    #expect((object["formats"] as? String)?.hasPrefix("jpeg, png, gif, webp") == true)
    // Debian's packages, which the tests install.
    let libraries = try #require(object["libraries"] as? [String])
    for name in ["libcurl", "libjpeg", "libwebp", "libheif"] {
      #expect(
        libraries.contains { $0.contains("/\(name).so") && $0.firstMatch(of: #/ \(lib\S+ \d\S+\)$/#) != nil },
        "\(libraries)"
      )
    }
    #expect((object["cache"] as? String)?.hasPrefix("\(job.cacheDirectory), not created yet; ") == true)
    #expect(object["problems"] as? [String] == [])
    for name in object.keys where (object[name] as? [String])?.isEmpty != true {
      #expect(text.outputText.firstMatch(of: try Regex("(?m)^\(name)  +\\S")) != nil, "\(name)")
    }
    #expect(!FileManager.default.fileExists(atPath: job.cacheDirectory))
  }

  @Test func `doctor shows a proxy without its password, and exits with 1 for a folder that isn't a cache`() async throws {
    let proxy = ["https_proxy": "http://ann:secret@proxy.example.com:3128"]
    job.writeJob("request: {proxy: environment}")
    let shown = try await job.prewarm("doctor --job job.yaml", environment: proxy)
    #expect(shown.outputText.contains("proxy.example.com:3128") && !shown.outputText.contains("secret"))
    job.write(urls: [])
    let refused = try await job.prewarm("doctor --cache-directory urls.txt/cache")
    #expect(refused.status == 1 && refused.outputText.contains("Not a directory"), "\(refused.outputText)")
  }

  @Test func `the variables of curl and OpenSSL name the CA certificates, and runs use them`() async throws {
    let certificates = try await Certificates()
    let nginx = try await Nginx(serving: Fixtures.path("images/good"), tls: .init(certificates))
    job.write(urls: [nginx.url("/coarse.jpg")])
    for (name, status) in [("SSL_CERT_FILE", 0), ("CURL_CA_BUNDLE", 0), ("SSL_CERT_DIR", 2), ("NO_VARIABLE", 2)] {
      let environment = [name: certificates.authority]
      #expect(try await job.prewarm("check urls.txt", environment: environment).status == status, "\(name)")
      let shown = try await job.prewarm("doctor", environment: environment).outputText
      #expect(shown.contains("certificates  \(certificates.authority)\n") == (name != "NO_VARIABLE"), "\(shown)")
    }
  }

  /// False in a chroot whose root isn't a mount point, too.
  private static let hidesFolders = (try? Command("/usr/bin/unshare", ["-m", "/bin/true"]).wait().status) == 0

  @Test(.enabled(if: hidesFolders, "needs the right to unshare mounts"))
  func `the distribution's folder of certificates is used only if it has more than its file`() async throws {
    let certificates = try await Certificates()
    let nginx = try await Nginx(serving: Fixtures.path("images/good"), tls: .init(certificates))
    job.write(urls: [nginx.url("/coarse.jpg")])
    let (good, other) = (certificates.authority, certificates.client)
    for (bundle, more, status) in [(good, "", 0), (other, good, 0), (other, "", 2)] {
      let script = """
        d=/etc/ssl/certs; mount -t tmpfs none $d && cp \(bundle) $d/ca-certificates.crt
        for file in \(more); do cp $file $d; done; openssl rehash $d; "$@" check urls.txt; s=$?; "$@" doctor; exit $s
        """
      let arguments = ["-m", "sh", "-c", script, "sh", BuiltCommand.path]
      let result = try await job.start(arguments, of: "/usr/bin/unshare").wait()
      #expect(result.status == status, "\(result.errorText)")
      #expect(result.outputText.contains("/etc/ssl/certs\n") == (more != ""), "\(result.outputText)")
    }
  }

  @Test(.enabled(if: hidesFolders, "needs the right to unshare mounts"))
  func `a machine without CA certificates is at fault, not its servers`() async throws {
    let nginx = try await Nginx(serving: Fixtures.path("images/good"), tls: .init(try await Certificates()))
    job.write(urls: [nginx.url("/coarse.jpg")])
    let hiding = [
      "-m", "sh", "-c", #"for d in /etc/ssl /etc/pki; do [ -d $d ] && mount -t tmpfs none $d; done; exec "$@""#, "sh",
    ]
    for arguments in [["check", "urls.txt"], ["doctor"]] {
      let result = try await job.start(hiding + [BuiltCommand.path] + arguments, of: "/usr/bin/unshare").wait()
      #expect(result.status == 1 && result.outputText.contains("no CA certificates"), "\(result.outputText)\(result.errorText)")
    }
  }
}
