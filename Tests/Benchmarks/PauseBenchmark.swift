import Base
import Glibc
import ImageCaching
import ImageDownloading
import ImageManaging
import Synchronization

/// How long look-ups take while the cache is trimmed, filled, compacted and cleared: `prewarm-benchmarks pauses FOLDER FIXTURES COUNT`.
///
/// Eight tasks load cached images, and one loads missing ones, whose commits compete with the operation.
struct PauseBenchmark {
  private static let readers = 8
  /// What a look-up may take (see Performance).
  private static let limit = Duration.milliseconds(20)

  let workspace: Workspace
  let count: Int

  func run() async throws {
    let image = try workspace.image("coarse.jpg")
    let example = try ExampleCache("pauses", in: workspace, time: .system)
    let other = try ExampleCache("other", in: workspace, time: .system)
    for first in stride(from: 0, to: count, by: 4096) {
      let last = min(count, first + 4096)
      try example.store(ExampleURLs(first..<last))
      if first < count / 4 { try other.store(ExampleURLs(first..<last, suffix: "?v=2")) }
    }
    let configuration = ImageCache.Configuration(
      directory: workspace.path("pauses"),
      maxAge: nil,
      maxBodyBytes: try example.cache.totals().bodyBytes * 4 / 5
    )
    let cache = try ImageCache(configuration)
    let manager = try ImageManager(
      ImageManager.Configuration(
        cache: cache,
        memory: nil,
        downloader: ImageDownloader.Configuration(loaders: [SameImage(body: image)])
      )
    )
    print("\(count) images, \(try cache.diskBytes() >> 20) MiB on disk")
    print("operation        seconds       hits    p50 ms    p99 ms  p99.9 ms   most ms  above 20 ms    misses")
    try await measure("none", manager) { try await Task.sleep(for: .seconds(2)) }
    try await measure("import", manager) { _ = try await cache.asynchronous.importEntries(from: other.cache) }
    try await measure("trim", manager) { _ = try await cache.asynchronous.trim() }
    try await measure("verify", manager) { _ = try await cache.asynchronous.verify() }
    try await measure("compact", manager) { try await cache.asynchronous.compact() }
    try await measure("clear", manager) { _ = try await cache.asynchronous.clear() }
    await manager.shutDown()
  }

  /// Loads images until the operation has ended, and prints a row.
  private func measure(_ name: String, _ manager: ImageManager, _ operation: @escaping @Sendable () async throws -> Void)
    async throws
  {
    let (run, clock) = (Run(), ContinuousClock())
    let started = clock.now
    let times = try await withThrowingTaskGroup(of: [Duration].self) { group in
      for reader in 0..<Self.readers {
        group.addTask {
          var (times, number): ([Duration], Int) = ([], reader)
          while run.isOn.load(ordering: .relaxed) {
            let before = clock.now
            let image = try await manager.data(for: ExampleURLs.text(self.count - 1 - number))
            // Once the cache is cleared, the rest are misses.
            if image.source == .disk { times.append(clock.now - before) }
            // The newest eighth stays in the cache when the rest is trimmed.
            number = (number + Self.readers) % (self.count / 8)
          }
          return times
        }
      }
      group.addTask {
        defer { run.isOn.store(false, ordering: .relaxed) }
        try await operation()
        return []
      }
      let misses = Task {
        var number = 0
        while run.isOn.load(ordering: .relaxed) {
          _ = try await manager.data(for: ExampleURLs.text(number) + "?\(name)")
          number += 1
        }
        return number
      }
      var times: [Duration] = []
      for try await own in group { times += own }
      let taken = clock.now - started
      times.sort()
      let part = { (share: Double) in (times[min(times.count - 1, Int(Double(times.count) * share))] / .milliseconds(1)) }
      let columns = [part(0.5), part(0.99), part(0.999), part(1)].map { pad(number($0), to: 9) }
      let above = times.count { $0 > Self.limit }
      print(
        name + String(repeating: " ", count: 14 - name.count),
        pad(number(taken / .seconds(1)), to: 9),
        pad("\(times.count)", to: 10),
        columns.joined(separator: " "),
        pad("\(above)", to: 12),
        pad("\(try await misses.value)", to: 9)
      )
      return times
    }
    precondition(!times.isEmpty)
  }

  /// With two digits after the point.
  private func number(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
  }

  private func pad(_ text: String, to width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }
}

/// The time while an operation runs.
private final class Run: Sendable {
  let isOn = Atomic(true)
}

/// Loads the same image for every URL, so that no network is measured.
private struct SameImage: ImageLoader {
  let body: [UInt8]

  func canLoad(_ url: String) -> Bool { true }

  func load(_ request: LoaderRequest) async throws -> LoaderResponse { LoaderResponse(body: body, contentType: "image/jpeg") }
}
