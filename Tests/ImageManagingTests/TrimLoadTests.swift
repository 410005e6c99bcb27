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
}
