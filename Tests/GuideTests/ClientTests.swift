import Foundation
import TestOrigin
import TestSupport
import Testing

/// Separate packages that depend on this one, like a user's.
///
/// They are built in `.build` to reuse results, since a full build takes minutes. `scripts/test` builds and runs the client.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["PREWARM_CLIENT"] == "1", "PREWARM_CLIENT=1 builds the client"))
struct ClientTests {
  private let folder = TemporaryDirectory()

  @Test func `a client of the library builds and runs`() async throws {
    let origin = try Origin()
    for number in 1...3 { origin.set("/\(number).jpg", .jpeg(number)) }
    let urls = (1...3).map { origin.url("/\($0).jpg") }
    // The guide's examples, too: here they can't use what only this package sees.
    for example in try Guide.examples() where !example.hasSuffix("InAServer.swift") {
      let name = URL(fileURLWithPath: example).lastPathComponent
      folder.write(try #require(readFile("\(Repository.path)/\(example)")), to: "client/Sources/client/\(name)")
    }
    let client = try await built("client", "main.swift", Self.clientDependencies)

    let first = try await Command(client, [folder.file("cache")] + urls).wait()
    let size = SampleImages.jpeg(1).count
    #expect(first.status == 0 && first.errorText.isEmpty)
    #expect(
      first.outputText == """
        32 x 24 pixels, \(size) bytes from network
        prefetched: 2 loaded, 0 there already, 0 failed
        cached: 3 images, \(3 * size) bytes
        32 x 24 pixels of jpeg
        logged: requesting an image, a load ended
        counted: 3 downloaded, 0 hit-disk, \(3 * size) bytes

        """
    )
    let second = try await Command(client, [folder.file("cache")] + urls).wait()
    #expect(second.outputText.contains("from disk\nprefetched: 0 loaded, 2 there already"))
    #expect(second.outputText.contains("logged: a load ended\ncounted: 0 downloaded, 3 hit-disk, 0 bytes"))
    #expect(origin.requests.count == 4)
  }

  /// A request to the guide's server with curl's options, and what its response has: status, and lines of its header; `!` means none.
  private typealias Exchange = (options: String, status: Int, header: [String])

  private static let exchanges: [Exchange] = [
    (
      "/originals/1.jpg", 200,
      ["content-type: image/jpeg", "content-length: 5000", "cache-control: public", "accept-ranges: bytes"]
    ),
    ("-I /originals/1.jpg", 200, ["content-length: 5000", "etag: "]),
    ("-H If-None-Match:ETAG /originals/1.jpg", 304, ["cache-control: public", "etag: ", "!content-type"]),
    (#"-H If-None-Match:"a",W/ETAG /originals/1.jpg"#, 304, []), ("-H If-None-Match:* /originals/1.jpg", 304, []),
    (#"-H If-None-Match:"a" /originals/1.jpg"#, 200, []),
    ("-H Range:bytes=0-9 /originals/1.jpg", 206, ["content-range: bytes 0-9/5000", "content-length: 10"]),
    ("-H Range:bytes=-10 /originals/1.jpg", 206, ["content-range: bytes 4990-4999/5000"]),
    ("-H Range:bytes=4000- -H If-Range:ETAG /originals/1.jpg", 206, ["content-range: bytes 4000-4999/5000"]),
    (#"-H Range:bytes=0-9 -H If-Range:"a" /originals/1.jpg"#, 200, ["content-length: 5000", "!content-range"]),
    ("-H Range:bytes=5000- /originals/1.jpg", 416, ["content-range: bytes */5000"]),
    ("-H Accept:image/webp,image/*;q=0.8 /thumbnails/320/2.jpg", 200, ["content-type: image/webp", "vary: accept"]),
    ("-H Accept:image/*,image/webp;q=0 /thumbnails/320/2.jpg", 200, ["content-type: image/jpeg", "vary: accept"]),
    ("-H If-None-Match:* /thumbnails/320/2.jpg", 304, ["vary: accept", "cache-control: public"]),
    ("/thumbnails/321/2.jpg", 404, []), ("/originals/none.jpg", 404, []), ("/originals/gone.jpg", 410, []),
    ("/originals/page.jpg", 502, []), ("/originals/broken.jpg", 502, []), ("/originals/busy.jpg", 503, ["retry-after: 2"]),
    ("--path-as-is /originals/../secret.jpg", 404, []), ("/originals/%2e%2e/secret.jpg", 404, []),
    ("/originals/..%2fsecret.jpg", 404, []), ("/originals/a%5c..%5csecret.jpg", 404, []), ("/ready", 200, []),
  ]

  @Test(
    .enabled(if: ProcessInfo.processInfo.environment["PREWARM_SERVER"] == "1", "PREWARM_SERVER=1 builds it, with Hummingbird")
  )
  func `the server of the guide serves as the guide says`() async throws {
    let program = try await built("server", "InAServer.swift", Self.serverDependencies)
    let (origin, spare) = (try Origin(fallback: .jpeg(1)), try Origin())
    spare.stop()
    // A comment segment has a marker and a length of two bytes each.
    let image = SampleImages.jpeg(1, padding: 5000 - 4 - SampleImages.jpeg(1).count)
    origin.set("/photos/1.jpg", .body(image, type: "image/jpeg"))
    for (path, behaviour) in [
      ("none", Behaviour.status(404)), ("gone", .status(410)), ("page", .text("<html>")), ("broken", .status(500)),
      ("busy", .status(503, headers: ["Retry-After": "60"])),
    ] { origin.set("/photos/\(path).jpg", behaviour) }
    let server = try Command(program, ["\(spare.port)", origin.url("/photos"), folder.file("images")])
    try await server.waitForError("Server started")
    let request = { (options: String) in
      let words = options.split(separator: " ").map(String.init)
      return try Command("/usr/bin/curl", ["-si"] + words.dropLast() + [spare.url(words.last ?? "")])
    }

    let etag = try await request("/originals/1.jpg").wait().outputText.firstMatch(of: /(?i:etag): (.*)\r\n/)?.1
    for (options, status, header) in Self.exchanges {
      let result = try await request(options.replacing("ETAG", with: try #require(etag))).wait()
      let head = result.outputText.prefix { $0 != "\0" }.split(separator: "\r\n\r\n").first.map { $0.lowercased() } ?? ""
      #expect(head.hasPrefix("http/1.1 \(status)"), "\(options): \(head)")
      for line in header {
        let isThere = head.contains("\r\n\(line.trimmingPrefix("!"))")
        #expect(isThere != line.hasPrefix("!"), "\(options): \(head)")
      }
      if status == 304 || options.hasPrefix("-I") { #expect(result.output.suffix(4) == Array("\r\n\r\n".utf8), "\(options)") }
    }
    #expect(origin.count(of: "/photos/1.jpg") == 1 && origin.requests.allSatisfy { !$0.path.contains("secret") })

    // The client leaves: so does the request to the origin.
    origin.set("/photos/slow.jpg", .stall)
    let leaving = try request("/originals/slow.jpg")
    try await origin.waitForRequests(1, of: "/photos/slow.jpg")
    leaving.kill()
    try await origin.waitForInFlight(0)

    // Drained: what is under way is sent, then the server ends.
    let gate = origin.hold("/photos/3.jpg")
    let last = try request("/originals/3.jpg")
    try await gate.waitForWaiting(1)
    server.send(SIGTERM)
    gate.open()
    #expect(try await last.wait().outputText.hasPrefix("HTTP/1.1 200"))
    #expect(try await server.wait().status == 0)
  }

  /// Builds the file of a fixture as a program that knows only the library products, and returns its path.
  private func built(_ name: String, _ file: String, _ dependencies: [Dependency]) async throws -> String {
    let package = folder.file(name)
    folder.write(manifest(name, dependencies), to: "\(name)/Package.swift")
    let source = try #require(readFile(Fixtures.path("\(name)/\(file)")))
    folder.write(source, to: "\(name)/Sources/\(name)/\(file)")
    // SwiftPM 6.3 passes several traits in a random order, and compiles everything again when it changes.
    let swift = ["SWIFT_DETERMINISTIC_HASHING=1", "swift"]
    let how = ["build", "--package-path", package, "--scratch-path", "\(Repository.path)/.build/\(name)", "--product", name]
    let build = try await Command("/usr/bin/env", swift + how).wait(timeout: .seconds(1800))
    try #require(build.status == 0, "\(build.outputText)\(build.errorText)")
    let place = try await Command("/usr/bin/env", swift + how + ["--show-bin-path"]).wait()
    return place.outputText.trimmingCharacters(in: .newlines) + "/\(name)"
  }

  /// A package besides prewarm, with the products that are used.
  private typealias Dependency = (package: String, from: String, products: [String])

  private static let clientDependencies: [Dependency] = [
    ("apple/swift-log", "1.6.0", ["InMemoryLogging"]), ("apple/swift-metrics", "2.5.0", ["MetricsTestKit"]),
  ]

  private static let serverDependencies: [Dependency] = [
    ("apple/swift-log", "1.6.0", ["Logging"]), ("apple/swift-metrics", "2.5.0", ["Metrics"]),
    ("hummingbird-project/hummingbird", "2.0.0", ["Hummingbird"]),
    ("swift-server/swift-service-lifecycle", "2.0.0", ["ServiceLifecycle"]),
  ]

  private func manifest(_ name: String, _ dependencies: [Dependency]) -> String {
    let packages = dependencies.map { ".package(url: \"https://github.com/\($0.package)\", from: \"\($0.from)\")," }
    let products = dependencies.flatMap { dependency in
      let package = dependency.package.split(separator: "/")[1]
      return dependency.products.map { ".product(name: \"\($0)\", package: \"\(package)\")," }
    }
    return """
      // swift-tools-version: 6.2
      import PackageDescription

      let package = Package(
        name: "\(name)",
        dependencies: [
          .package(name: "prewarm", path: "\(Repository.path)", traits: [.defaults, "Observing", "FoundationURLs"]),
          \(packages.joined(separator: "\n    "))
        ],
        targets: [
          .executableTarget(
            name: "\(name)",
            dependencies: [
              .product(name: "PrewarmImages", package: "prewarm"),
              .product(name: "PrewarmObserving", package: "prewarm"),
              \(products.joined(separator: "\n        "))
            ]
          )
        ]
      )

      """
  }
}
