import ImageCaching
import ImageDownloading
import ImagePrimitives
import Testing

@testable import ImageManaging

@Suite struct FlightTableTests {
  private final class Receiver: LoadReceiver {
    func complete(_ completions: [LoadCompletion]) {}
  }

  private let table = FlightTable()
  private let receiver = Receiver()
  private let context = LoadContext(cache: nil, mode: .bypass, download: DownloadOptions(), startedAt: Timestamp(milliseconds: 0))

  private func key(_ name: String) -> CacheKey { Array(name.utf8).withUnsafeBytes { CacheKey(identity: $0) } }

  private func join(_ names: [String], seenInFlight: Bool = false, receiver: Receiver? = nil) -> [FlightTable.Joined] {
    table.join(
      Array(names.enumerated()),
      sharer: { Sharer(receiver: receiver ?? self.receiver, id: UInt64($0.offset)) },
      key: { key($0.element) },
      mustExist: { _ in seenInFlight },
      flight: { request in
        Flight(
          key: key(request.element),
          identity: Array(request.element.utf8),
          url: Array(request.element.utf8),
          priority: .normal,
          sequence: 0,
          context: context,
          wasBlacklisted: false
        )
      }
    )
  }

  @Test("M19: the second request for an identity joins the first, in one batch too") func theSecondJoinsTheFirst() {
    let joined = join(["a", "b", "a"])
    guard case .began(let first) = joined[0], case .began(let second) = joined[1], case .shared = joined[2] else {
      Issue.record("joined \(joined)")
      return
    }
    #expect(table.end([first, second]).map { $0.map(\.id) } == [[0, 2], [1]])
  }

  @Test func anEndedFlightIsNotJoinedAndBeginsAnew() {
    guard case .began(let first) = join(["a"])[0] else { return }
    _ = table.end([first])
    guard case .began(let second) = join(["a"])[0] else {
      Issue.record("a flight that has ended was joined")
      return
    }
    #expect(first != second)
    #expect(table.end([first])[0].isEmpty)
  }

  @Test func aFlightThatWasSeenAndHasEndedSinceIsToBeLookedUpAgain() {
    guard case .ended = join(["a"], seenInFlight: true)[0] else {
      Issue.record("a request began a flight for what is in the cache by now")
      return
    }
  }

  @Test("M17: cancelling leaves flights alone that others wait for") func cancellingLeavesSharedFlightsAlone() {
    let other = Receiver()
    _ = join(["mine", "shared"])
    _ = join(["shared"], receiver: other)
    let cancelled = table.cancel(for: receiver)
    #expect(cancelled.compactMap { table.flight($0)?.identity } == [Array("mine".utf8)])
  }
}
