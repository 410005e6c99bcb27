import ImageCaching
import ImageDownloading
@testable import ImageManaging
import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// The same bytes from many URLs of a host, wherever they are found.
@Suite struct PlaceholderTests {
  private static let rules = VerificationRules(placeholderURLs: 3)

  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }

  /// The origin has the same image for every path.
  init() { origin.setFallback(.body(SampleImages.jpeg(0), type: "image/jpeg")) }

  private func load(_ urls: [String], _ context: LoadContext, by loader: Loader? = nil) async throws -> [EntryResult] {
    var results: [EntryResult] = []
    for url in urls { results.append(try await (loader ?? self.loader).load(url, context)) }
    return results
  }

  private func urls(_ count: Int = 5) -> [String] { (1...count).map { origin.url("/\($0)") } }

  @Test func `contexts count separately, and one without the rule accepts all`() async throws {
    for _ in 1...2 {
      let results = try await load(urls(3), loader.context(verification: Self.rules))
      #expect(results.last?.failure?.kind == .placeholder)
    }
    #expect(try await load(urls(), loader.context()).allSatisfy { $0.failure == nil })
  }

  @Test func `a load without the rule gets its image from a placeholder's shared request`() async throws {
    let context = loader.context(verification: Self.rules)
    _ = try await load(urls(2), context)
    let gate = origin.hold("/3")
    let (first, second) = (Loader.Waiter(), Loader.Waiter())
    try loader.ask([origin.url("/3")], context, as: first)
    try await gate.waitForWaiting(1)
    try loader.ask([origin.url("/3")], loader.context(), as: second)
    gate.open()
    #expect(try await first.completions(1)[0].1.result.failure?.kind == .placeholder)
    #expect(try await second.completions(1)[0].1.result.outcome == .downloaded)
  }

  @Test(arguments: [CacheMode.dryRun, .only])
  func `a dry run and a cache-only run report which hits would be requested again`(mode: CacheMode) async throws {
    _ = try await load(urls(), loader.context())
    let results = try await load(urls(), loader.context(mode: mode, verification: Self.rules))
    #expect(results.map(\.outcome) == [.hitDisk, .hitDisk, .skipped, .skipped, .skipped])
    #expect(origin.requests.count == 5)
  }

  @Test func `images of a folder count once they are read`() async throws {
    _ = try await load(urls(), loader.context())
    let flat = TemporaryDirectory()
    _ = try loader.cache.export(to: flat.path, layout: .sdwebimage(withExtension: false))
    origin.set("/4", .body(SampleImages.jpeg(4), type: "image/jpeg"))
    let other = try Loader()
    let options = LoadOptions(readOnly: [try ReadOnlyCache(opening: flat.path, namespace: "default")], verification: Self.rules)
    let results = try await load(urls(), other.context(options), by: other)
    #expect(results.map(\.outcome) == [.hitDisk, .hitDisk, .failed, .downloaded, .failed])
  }

  @Test func `images of read-only caches and of memory count too`() async throws {
    _ = try await load(urls(), loader.context())
    let other = try Loader()
    let memory = ImageMemory(pressure: nil)
    let filling = LoadOptions(readOnly: [ReadOnlyCache(loader.cache)], memory: memory)
    _ = try await load(urls(), other.context(filling), by: other)
    #expect(memory.count == 5 && origin.requests.count == 5)
    var options = filling
    options.verification = Self.rules
    for (memory, outcome) in [(memory, LoadOutcome.hitMemory), (nil, .hitDisk)] {
      options.memory = memory
      let results = try await load(urls(), other.context(options), by: other)
      #expect(results.map(\.outcome) == [outcome, outcome, .failed, .failed, .failed])
    }
  }

  /// Records the images that it sees.
  private final class Observer: ImageObserver {
    private let seen = Mutex<[String]>([])
    var images: [String] { seen.withLock { $0 } }

    func saw(_ image: ArrivedImage) {
      let bytes = image.withBytes { $0.count } ?? 0
      let line = "\(image.url.suffix(2)) \(image.failure?.kind.name ?? "good") \(image.byteCount == bytes) \(image.isWhole)"
      seen.withLock { $0.append(line) }
    }
  }

  @Test func `an observer sees every received image, good or not, but no hits and no responses without an image`() async throws {
    let loader = try Loader()
    let large = SampleImages.jpeg(2, padding: 300_000)
    let origin = try Origin([
      "/a": .body(SampleImages.jpeg(1), type: "image/jpeg"), "/b": .body(large, type: "image/jpeg"),
      "/c": .body(Array("<html>".utf8)), "/d": .body([]),
    ])
    let observer = Observer()
    let context = loader.context(LoadOptions(observer: observer))
    _ = try await load(["/a", "/b", "/c", "/d", "/e", "/a"].map { origin.url($0) }, context)
    #expect(observer.images == ["/a good true true", "/b good true true", "/c not-an-image true true"])
  }
}
