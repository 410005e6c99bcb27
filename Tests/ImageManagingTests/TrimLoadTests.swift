import Base
import Foundation
import ImageCaching
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// Loads while a manager trims its cache.
@Suite struct TrimLoadTests {
  /// Set by the observer when the trim has ended.
  private final class Trim: Sendable {
    let results = Watched<[TrimResult]>([])
    var observer: ImageManager.Observer {
      ImageManager.Observer { event in
        if case .trimmed(let result) = event { self.results.withLock { $0.append(result) } }
      }
    }
  }

  /// Whether the calling thread is the one that trims.
  private static var isUpkeep: Bool {
    (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) == "upkeep\n"
  }

  @Test func `loads continue while a trim runs`() async throws {
    let (folder, trim, door) = (TemporaryDirectory(), Trim(), Door())
    let time = TimeSource {
      // A trim reads the time at its start.
      if Self.isUpkeep { door.pass() }
      return TimeSource.system.wall()
    }
    let cache = try ImageCache(ImageCache.Configuration(directory: folder.path, maxBodyBytes: 1 << 20, time: time))
    let album = try Album {
      $0.cache = cache
      $0.memory = nil
      $0.observers = [trim.observer]
    }
    album.origin.setFallback { request in .jpeg(Int(request.path.filter(\.isNumber)) ?? 0, padding: 100_000) }
    // The twelfth exceeds the limit by a tenth.
    for number in 1...20 { _ = try await album.manager.data(for: album.url("/\(number).jpg")) }
    try await door.waitForArrival()
    for number in 1...20 { #expect(try await album.manager.data(for: album.url("/\(number).jpg")).source == .disk) }
    #expect(trim.results.value.isEmpty)
    door.open()
    album.manager.finishTrimming()
    #expect(trim.results.value.count == 1)
    #expect(try cache.totals().bodyBytes <= 1 << 20)
  }

  private static func url(_ number: Int) -> String { "http://example.com/images/gallery/\(number)/photo-\(number).jpg" }

  /// The figures of a trim of many entries, from a real disk: `PREWARM_TRIM_ENTRIES=130000 PREWARM_TRIM_FOLDER=/var/tmp swift test
  /// --filter TrimLoadTests`. It fails only if a load fails.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["PREWARM_TRIM_ENTRIES"] != nil))
  func `the times of hits while a trim runs are printed`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let count = Int(environment["PREWARM_TRIM_ENTRIES"] ?? "") ?? 130_000
    let size = Int(environment["PREWARM_TRIM_BYTES"] ?? "") ?? 2000
    let misses = Int(environment["PREWARM_TRIM_MISSES"] ?? "") ?? .max
    let place = environment["PREWARM_TRIM_FOLDER"] ?? NSTemporaryDirectory()
    let folder = "\(place)/prewarm-trim-\(getpid())"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let image = SampleImages.jpeg(1, padding: max(0, size - SampleImages.jpeg(1).count))
    var total = 0
    do {
      let cache = try ImageCache(ImageCache.Configuration(directory: folder, maxAge: nil))
      for start in stride(from: 0, to: count, by: 4096) {
        try cache.write { writer throws(CacheError) in
          for number in start..<min(count, start + 4096) {
            let identity = Array(Self.url(number).utf8)
            let head = EntryHead(
              image: ImageProperties(format: .jpeg, width: 8, height: 8),
              proof: .header,
              contentTypeMatch: .exact,
              checksum: image.withUnsafeBytes(checksum(of:))
            )
            let fields = EntryFields(key: CacheKey(identity: identity), head: head, identity: identity, shownURL: identity)
            try writer.store(fields, body: .bytes(image))
          }
        }
      }
      total = try cache.totals().bodyBytes
      print("\(count) images of \(image.count) bytes: \(total) bytes of bodies, \(try cache.diskBytes()) on disk")
    }
    let trim = Trim()
    let cache = try ImageCache(ImageCache.Configuration(directory: folder, maxAge: nil, maxBodyBytes: total * 4 / 5))
    let manager = try ImageManager(ImageManager.Configuration(cache: cache, observers: [trim.observer]))
    let origin = try Origin()
    origin.setFallback { _ in .body(SampleImages.jpeg(7), type: "image/jpeg") }
    let times = Watched<[Duration]>([])
    let clock = ContinuousClock()
    let started = clock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          var own: [Duration] = []
          var number = count - 1 - worker
          while trim.results.value.isEmpty {
            let before = clock.now
            _ = try await manager.data(for: Self.url(number))
            own.append(clock.now - before)
            number = number > count - count / 8 ? number - 8 : count - 1 - worker
          }
          times.withLock { $0 += own }
        }
      }
      // Misses: their commits compete with the trim.
      group.addTask {
        var number = 0
        while trim.results.value.isEmpty, number < misses {
          _ = try await manager.data(for: origin.url("/\(number).jpg"))
          number += 1
        }
        print("misses: \(number)")
      }
      try await group.waitForAll()
    }
    let sorted = times.value.sorted()
    let milliseconds = { (part: Double) -> Double in
      let value = sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
      return Double(value.components.attoseconds / 1_000_000_000_000) / 1000 + Double(value.components.seconds) * 1000
    }
    let slow = sorted.count { $0 > .milliseconds(20) }
    print(
      "trim of \(trim.results.value) in \(clock.now - started); \(sorted.count) hits: p50 \(milliseconds(0.5)) ms, "
        + "p99 \(milliseconds(0.99)) ms, p99.9 \(milliseconds(0.999)) ms, maximum \(milliseconds(1)) ms, \(slow) above 20 ms"
    )
    await manager.shutDown()
  }
}
