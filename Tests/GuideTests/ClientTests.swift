import Foundation
import TestOrigin
import TestSupport
import Testing

/// A separate package that depends on this one, like a user's: it is built and run.
///
/// It is built in `.build/client` to reuse results, since a full build takes minutes. `scripts/test` runs it.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["PREWARM_CLIENT"] == "1", "PREWARM_CLIENT=1 builds the client"))
struct ClientTests {
  private let folder = TemporaryDirectory()

  @Test("a client of the library builds and runs") func aClientOfTheLibraryIsBuiltAndRuns() async throws {
    let origin = try Origin()
    for number in 1...3 { origin.set("/\(number).jpg", .body(SampleImages.jpeg(number), type: "image/jpeg")) }
    let urls = (1...3).map { origin.url("/\($0).jpg") }
    let client = try await built()

    let first = try await Command.run(client, [folder.file("cache")] + urls)
    let size = SampleImages.jpeg(1).count
    #expect(first.status == 0 && first.errorText.isEmpty)
    #expect(
      first.outputText == """
        32 x 24 pixels, \(size) bytes from network
        prefetched: 2 loaded, 0 there already, 0 failed
        cached: 3 images, \(3 * size) bytes
        logged: requesting an image, a load ended
        counted: 3 downloaded, 0 hit-disk, \(3 * size) bytes

        """
    )
    let second = try await Command.run(client, [folder.file("cache")] + urls)
    #expect(second.outputText.contains("from disk\nprefetched: 0 loaded, 2 there already"))
    #expect(second.outputText.contains("logged: a load ended\ncounted: 0 downloaded, 3 hit-disk, 0 bytes"))
    #expect(origin.requests.count == 3)
  }

  /// Builds the client in a package that knows only the library products, and returns its path.
  private func built() async throws -> String {
    let package = folder.file("client")
    folder.write(Self.manifest, to: "client/Package.swift")
    let source = try #require(readFile(Fixtures.path("client/main.swift")))
    folder.write(source, to: "client/Sources/client/main.swift")
    let how = ["build", "--package-path", package, "--scratch-path", "\(Guide.root)/.build/client", "--product", "client"]
    let build = try await Command.run("/usr/bin/env", ["swift"] + how, timeout: .seconds(1800))
    try #require(build.status == 0, "\(build.outputText)\(build.errorText)")
    let place = try await Command.run("/usr/bin/env", ["swift"] + how + ["--show-bin-path"])
    return place.outputText.trimmingCharacters(in: .newlines) + "/client"
  }

  private static let manifest = """
    // swift-tools-version: 6.2
    import PackageDescription

    let package = Package(
      name: "client",
      dependencies: [
        .package(name: "prewarm", path: "\(Guide.root)", traits: [.defaults, "Observing", "FoundationURLs"]),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
      ],
      targets: [
        .executableTarget(
          name: "client",
          dependencies: [
            .product(name: "PrewarmImages", package: "prewarm"),
            .product(name: "PrewarmObserving", package: "prewarm"),
            .product(name: "InMemoryLogging", package: "swift-log"),
            .product(name: "MetricsTestKit", package: "swift-metrics"),
          ]
        )
      ]
    )

    """
}
