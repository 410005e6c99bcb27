import Base
import ImageCaching
import ImageDownloading
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

@Suite struct FlightTableTests {
  private final class Receiver: LoadReceiver {
    func complete(_ completions: [(Entry, LoadCompletion)]) {}
  }

  private let table = FlightTable()
  private let receiver = Receiver()
  private let context = Self.context()

  private static func context() -> LoadContext {
    let start = Timestamp(milliseconds: 0)
    return LoadContext(cache: nil, download: DownloadOptions(), options: LoadOptions(mode: .bypass), startedAt: start)
  }

  private func key(_ name: String) -> CacheKey { Array(name.utf8).withUnsafeBytes { CacheKey(identity: $0) } }

  private func join(
    _ names: [String],
    seenInFlight: Bool = false,
    receiver: Receiver? = nil,
    context: LoadContext? = nil,
    key: CacheKey? = nil,
    priority: LoadPriority = .normal
  ) -> [FlightTable.Joined] {
    let flights = names.enumerated().map { index, name in
      let bytes = Array(name.utf8)
      let entry = Entry(
        BatchEntry(line: UInt64(index), priority: priority, parts: .empty, requestRange: bytes.indices),
        text: bytes
      )
      return Flight(own: ImageName(key: key ?? self.key(name), identity: bytes), entry: entry, context: context ?? self.context)
    }
    return table.join(flights, receiver: receiver ?? self.receiver) { _ in seenInFlight }
  }

  @Test func `the second request for an identity joins the first, even within a batch`() throws {
    let joined = join(["a", "b", "a"])
    let (first, second) = (try #require(joined[0].began), try #require(joined[1].began))
    #expect(joined[2].isShared)
    #expect(table.end([first, second]).map { $0.map(\.entry.line) } == [[0, 2], [1]])
  }

  @Test func `an ended flight isn't joined, and a new one starts`() throws {
    let first = try #require(join(["a"])[0].began)
    _ = table.end([first])
    #expect(try #require(join(["a"])[0].began) != first)
    #expect(table.end([first])[0].isEmpty)
  }

  @Test func `a flight that ended since it was seen is looked up again`() {
    let joined = join(["a"], seenInFlight: true)[0]
    #expect(joined.began == nil && !joined.isShared)
  }

  @Test func `cancelling leaves flights with other waiters running`() {
    let other = Receiver()
    _ = join(["mine", "shared"])
    _ = join(["shared"], receiver: other)
    let stopped = table.stop(.now, for: receiver).numbers
    #expect(stopped.compactMap { table.flight($0)?.name.identity } == [Array("mine".utf8)])
    #expect(stopped.allSatisfy { table.flight($0)?.stop == .now })
  }

  @Test func `contexts don't share flights`() {
    let other = Self.context()
    #expect(join(["a"])[0].began != nil && join(["a"], context: other)[0].began != nil)
    #expect(table.marks(of: [key("a")], for: other) == [true])
  }

  @Test func `identities with equal hashes don't share flights`() throws {
    let first = try #require(join(["a"], key: key("x"))[0].began)
    let second = try #require(join(["b"], key: key("x"))[0].began)
    #expect(table.end([second]).map(\.count) == [1])
    #expect(join(["a"], key: key("x"))[0].isShared, "the first is still found")
    #expect(table.end([first]).map(\.count) == [2])
  }

  @Test func `a stop cannot be undone`() throws {
    let number = try #require(join(["a"])[0].began)
    _ = table.stop(.now, for: receiver)
    _ = table.stop(.nothingNew, for: receiver)
    #expect(table.flight(number)?.stop == .now)
  }
}

extension FlightTable.Joined {
  fileprivate var began: UInt64? { if case .began(let number) = self { number } else { nil } }
  fileprivate var isShared: Bool { if case .shared = self { true } else { false } }
}

@Suite struct BackPressureTests {
  @Test func `a blocked caller is called once there is room`() {
    let pressure = BackPressure()
    pressure.add(BackPressure.Held(entries: pressure.limit.entries))
    #expect(!pressure.mayStart())
    #expect(pressure.subtract(BackPressure.Held(entries: 1)))
    #expect(pressure.mayStart())
    #expect(!pressure.subtract(BackPressure.Held(entries: 1)))
  }

  @Test(arguments: [BackPressure.Held(entries: 10), BackPressure.Held(bytes: 10), BackPressure.Held(blobs: 10)])
  func `entries, bytes and open files are each limited`(held: BackPressure.Held) {
    let pressure = BackPressure(limit: BackPressure.Held(entries: 10, bytes: 10, blobs: 10))
    pressure.add(held)
    #expect(!pressure.mayStart())
    #expect(pressure.subtract(held))
  }

  @Test func `a blocked thread is always called, whatever the other thread does meanwhile`() throws {
    let pressure = BackPressure()
    let calls = Mailbox<Bool>()
    let rounds = 20_000
    let half = BackPressure.Held(entries: pressure.limit.entries / 2)
    let work = Mailbox<Int>()
    let store = try WorkerThread(name: "store") {
      var batch: [Int] = []
      var left = rounds
      while left > 0 {
        if !work.takeAll(into: &batch) { _ = work.wait() }
        for _ in batch where pressure.subtract(half) { calls.post(true) }
        left -= batch.count
      }
    }
    var batch: [Bool] = []
    for round in 0..<rounds {
      while !pressure.mayStart() {
        if !calls.takeAll(into: &batch) { _ = calls.wait() }
      }
      pressure.add(half)
      work.post(round)
    }
    store.join()
  }
}

/// Look-ups of whole batches, which a second thread may share.
@Suite struct SharedLookUpTests {
  @Test func `a large batch is decided like single requests, each once, with hits in order`() async throws {
    let origin = try Origin([:])
    origin.setFallback { _ in .body(SampleImages.jpeg(1), type: "image/jpeg") }
    let loader = try Loader()
    defer { loader.shutDown() }
    let urls = (0..<2000).map { origin.url("/\($0).jpg") }
    let cached = Set(stride(from: 0, to: 2000, by: 3))
    try loader.ask(cached.sorted().map { urls[$0] }, loader.context())
    #expect(try await loader.results(cached.count).allSatisfy { $0.outcome == .downloaded })

    // It is random whether the second thread takes a part, so it is tried often.
    for _ in 0..<50 {
      let waiter = Loader.Waiter()
      try loader.ask(urls, loader.context(mode: .only), as: waiter)
      let completions = try await waiter.completions(urls.count)
      #expect(completions.count == urls.count && Set(completions.map(\.0.sequence)).count == urls.count)
      let hits = completions.filter { $0.1.result.outcome == .hitDisk }.map { Int($0.0.sequence) }
      #expect(hits == cached.sorted())
      #expect(completions.count { $0.1.result.outcome == .skipped } == urls.count - cached.count)
    }
  }
}
