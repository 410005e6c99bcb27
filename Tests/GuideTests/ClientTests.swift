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

  @Test(
    .enabled(if: ProcessInfo.processInfo.environment["PREWARM_SERVER"] == "1", "PREWARM_SERVER=1 builds it, with Hummingbird")
  )
  func `the server of the guide builds`() async throws {
    _ = try await built("server", "InAServer.swift", Self.serverDependencies)
  }

  /// Builds the file of a fixture as a program that knows only the library products, and returns its path.
  private func built(_ name: String, _ file: String, _ dependencies: [Dependency]) async throws -> String {
    let package = folder.file(name)
    folder.write(manifest(name, dependencies), to: "\(name)/Package.swift")
    let source = try #require(readFile(Fixtures.path("\(name)/\(file)")))
    folder.write(source, to: "\(name)/Sources/\(name)/\(file)")
    let how = ["build", "--package-path", package, "--scratch-path", "\(Repository.path)/.build/\(name)", "--product", name]
    let build = try await Command("/usr/bin/env", ["swift"] + how).wait(timeout: .seconds(1800))
    try #require(build.status == 0, "\(build.outputText)\(build.errorText)")
    let place = try await Command("/usr/bin/env", ["swift"] + how + ["--show-bin-path"]).wait()
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
