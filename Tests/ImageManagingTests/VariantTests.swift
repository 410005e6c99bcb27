import Foundation
import ImageCaching
import ImageDownloading
@testable import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// Images that one context requests in several ways.
@Suite struct VariantTests {
  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }

  init() {
    loader.origin.setFallback { request in
      let isPNG = request.headers["Accept"] == "image/png"
      return .body(
        isPNG ? SampleImages.png(1) : SampleImages.jpeg(1),
        type: isPNG ? "image/png" : "image/jpeg",
        headers: ["Vary": "Accept"]
      )
    }
  }

  private static func options(accept: String, connectTo: [DownloadOptions.ConnectTarget] = []) -> DownloadOptions {
    var connection = DownloadOptions.Connection()
    connection.connectTo = connectTo
    return .patient {
      $0.accept = accept
      $0.connection = connection
    }
  }

  private static let variants = ["png", "jpeg"].map { (name: String) in
    (RequestVariant(name: name), options(accept: "image/\(name)"))
  }

  private func context(_ variants: [(RequestVariant, DownloadOptions)] = Self.variants, readOnly: [ReadOnlyCache] = [])
    -> LoadContext
  {
    loader.context(LoadOptions(readOnly: readOnly, variants: variants)) { $0.accept = "image/*" }
  }

  /// Requests one URL once per variant, all in one batch.
  private func load(_ url: String, _ variants: [UInt16], _ context: LoadContext) async throws -> [EntryResult] {
    try loader.ask(Array(repeating: url, count: variants.count), context, variants: variants)
    return try await loader.results(variants.count)
  }

  @Test func `Vary is compared with the variant's own headers`() async throws {
    let url = origin.url("/a")
    _ = try await load(url, [1, 2], context())
    // The same names with other headers are different requests.
    let swapped = zip(["png", "jpeg"], ["jpeg", "png"]).map { name, type in
      (RequestVariant(name: name), Self.options(accept: "image/\(type)"))
    }
    #expect(try await load(url, [1, 2], context(swapped)).map(\.format) == [.jpeg, .png])
    #expect(origin.requests.count == 4)
  }

  @Test func `contexts with different variants share no request, whatever their names`() async throws {
    let gate = origin.holdAll()
    let url = origin.url("/a")
    let other = [(RequestVariant(name: "png"), Self.options(accept: "image/jpeg"))]
    let own = context()
    try loader.ask([url], own, variants: [1])
    try loader.ask([url], context(other), variants: [1])
    try loader.ask([url], own, variants: [1])
    try await origin.waitForInFlight(2)
    gate.open()
    #expect(try await loader.results(3).count { $0.isShared } == 1)
    #expect(origin.requests.count == 2)
  }

  @Test func `a variant's blacklisted URL is blacklisted for that variant only`() async throws {
    origin.setFallback { $0.headers["Accept"] == "image/png" ? .status(404) : .body(SampleImages.jpeg(1), type: "image/jpeg") }
    let url = origin.url("/a")
    #expect(try await load(url, [1, 2], context()).map(\.outcome) == [.failed, .downloaded])
    #expect(try await load(url, [1, 2, 0], context()).map(\.outcome) == [.blacklisted, .hitDisk, .downloaded])
    #expect(origin.requests.count == 3)
  }

  @Test func `identities name the edge, or else the connect-to target if a rule matches`() throws {
    let rules = [
      DownloadOptions.ConnectTarget(host: "a.example", port: 443, targetHost: "b.example", targetPort: nil),
      DownloadOptions.ConnectTarget(host: "a.example", targetHost: nil, targetPort: 8080),
      DownloadOptions.ConnectTarget(port: 81, targetHost: "[::1]", targetPort: 82),
      DownloadOptions.ConnectTarget(host: "same.example", targetHost: "same.example", targetPort: 80),
    ]
    let options = Self.options(accept: "image/*", connectTo: rules)
    let named = (RequestVariant(name: "small", edge: "east"), options)
    for (url, suffix) in [
      ("https://a.example/x", "#connect=b.example:443"), ("http://a.example/x", "#connect=a.example:8080"),
      ("http://c.example:81/", "#connect=[::1]:82"), ("http://c.example/", ""), ("http://same.example/", ""),
    ] {
      let context = LoadContext(
        cache: loader.cache,
        download: options,
        options: LoadOptions(variants: [named]),
        startedAt: loader.clock.source.wall()
      )
      let identities = try ImageIdentity.identities(of: url, by: context).map { String(decoding: $0, as: UTF8.self) }
      #expect(identities == [url + suffix, url + "#variant=small#edge=east"])
    }
  }

  @Test func `a file of a flat folder is only the plain image`() async throws {
    let url = origin.url("/a.jpg")
    _ = try await load(url, [0], context())
    let folder = TemporaryDirectory()
    _ = try loader.cache.export(to: folder.path, layout: .sdwebimage(withExtension: true))
    let other = try Loader()
    let readOnly = [try ReadOnlyCache(opening: folder.path, namespace: "default", maxAge: nil)]
    let context = other.context(LoadOptions(readOnly: readOnly, variants: Self.variants)) { $0.accept = "image/*" }
    try other.ask([url, url], context, variants: [0, 1])
    #expect(try await other.results(2).map(\.outcome) == [.hitDisk, .downloaded])
  }
}
