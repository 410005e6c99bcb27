import Foundation
import ImageCaching
import Base
import TestSupport
import Testing

/// A process that uses a cache while another one writes it. `PREWARM_SOAK_IMAGES` sets the number of images, a few hundred by
/// default.
@Suite struct BesideWriterTests {
  let directory = TemporaryDirectory()

  /// The bytes of an image, which contain its number and its round.
  static func image(_ number: Int, round: Int) -> [UInt8] {
    // One in fifty is large enough for a file of its own.
    let bytes = body(number % 50 == 0 ? 280_000 + number % 7 : 200 + number % 900, seed: UInt8(truncatingIfNeeded: number))
    return Array("\(number) \(round) ".utf8) + bytes
  }

  static func url(_ number: Int) -> String { "https://h/\(number % 10)/\(number).png" }

  static var count: Int { ProcessInfo.processInfo.environment["PREWARM_SOAK_IMAGES"].flatMap { Int($0) } ?? 300 }

  @Test func `a second process exports, verifies, imports and reads correctly while the first writes`() async throws {
    let cache = try openCache(directory.path)
    // The other process has entries from the start, and continues until it has seen all.
    try write(cache, 0..<10, round: 0)
    let writing = Task.detached { [self] in
      for start in stride(from: 0, to: Self.count, by: 20) {
        // Remove and replace existing entries while the other process reads them. Only the last transaction makes all entries
        // exist.
        _ = try cache.remove(Self.url(max(0, start - 20)))
        try write(cache, max(0, start - 40)..<min(start + 20, Self.count), round: start)
      }
    }
    await #expect(processExitsWith: .success) { [path = directory.path as String, count = Self.count as Int] in
      let cache = try openCache(path)
      let copy = try ImageCache(ImageCache.Configuration(directory: path, namespace: "copy"))
      var pass = 0
      var hasSeenAll = false
      while !hasSeenAll {
        hasSeenAll = try cache.totals().entries >= count
        pass += 1
        #expect(try cache.verify(repair: pass.isMultiple(of: 2)).damaged == 0)
        let result = try cache.export(to: "\(path)/out", layout: .urlPath)
        #expect(result.damaged == 0 && result.withCredentials == 0)
        #expect(try copy.importEntries(from: cache).damaged == 0)
        for number in stride(from: 0, to: count, by: 7) {
          if case .damaged(let damage) = try cache.cachedBody(BesideWriterTests.url(number)) {
            Issue.record("\(number) is damaged: \(damage)")
          }
        }
      }
    }
    try await writing.value

    let total = try cache.totals()
    #expect(total.entries == Self.count)
    #expect(try cache.counted() == (total.entries, total.bodyBytes))
    let verified = try cache.verify()
    #expect(verified.entries == Self.count && verified.bytes == total.bodyBytes && verified.damaged == 0)
    let copy = try makeCache(directory, namespace: "copy", clock: ManualClock())
    let copied = try copy.totals()
    #expect(copied.entries == Self.count, "a last pass started when all entries existed")
    #expect(try copy.counted() == (copied.entries, copied.bodyBytes))
    #expect(files(below: directory.file("out")).count == Self.count)
    for number in 0..<Self.count {
      let exported = try #require(directory.read("out/h/\(number % 10)/\(number).png"))
      let round = exported.split(separator: UInt8(ascii: " "), maxSplits: 2)[1]
      #expect(exported == Self.image(number, round: Int(String(decoding: round, as: UTF8.self)) ?? -1), "\(number) is whole")
    }
  }

  private func write(_ cache: ImageCache, _ numbers: Range<Int>, round: Int) throws(CacheError) {
    try cache.write { (writer) throws(CacheError) in
      for number in numbers { try writer.put(Self.url(number), Self.image(number, round: round)) }
    }
  }
}
