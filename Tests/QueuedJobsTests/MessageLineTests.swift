import ImagePrimitives
import Testing

@testable import QueuedJobs
@testable import WorkQueues

/// The messages that a worker starts, and those that it gives to others.
@Suite struct MessageLineTests {
  private func message(_ number: Int, of host: String, entries: Int = 64, priority: LoadPriority = .normal) -> HeldMessage {
    let url = Array("http://\(host)/\(number).jpg".utf8)
    let entry = QueuedEntry(url: 0..<url.count, manifest: 0, line: 1, state: .good)
    return HeldMessage(
      QueuedMessage(
        id: QueuedMessage.ID(stream: QueueStream(priority: priority, isRetry: false), text: "\(number)-0"),
        deliveries: 1,
        isGivenUp: false,
        error: nil,
        bytes: url,
        entries: Array(repeating: entry, count: entries)
      )
    )
  }

  private func line(_ messages: HeldMessage...) -> MessageLine {
    var line = MessageLine(concurrency: 32, perHost: 8)
    for message in messages { line.add(message) }
    return line
  }

  /// Starts all messages that may start, and returns their numbers.
  private func begin(_ line: inout MessageLine, pace: Int = 0) -> [String] {
    var begun: [String] = []
    while let held = line.next(pace: pace) {
      line.change(held.host, by: held.message.entries.count)
      begun.append(held.message.id.text)
    }
    return begun
  }

  @Test("a host's next message starts when transfers would run out") func ofAHostTheNextIsBegunWhenTransfersWouldRunOut() {
    var line = line(message(1, of: "a"), message(2, of: "a"), message(3, of: "b"))
    #expect(begin(&line) == ["1-0", "3-0"])
    let host = message(0, of: "a").host
    line.change(host, by: -48)
    #expect(!line.hasNext(pace: 0))
    line.change(host, by: -1)
    #expect(line.hasNext(pace: 0))
    #expect(begin(&line) == ["2-0"])
    #expect(line.isEmpty)
  }

  @Test("a worker that finishes many starts many") func whoFinishesManyBeginsMany() {
    var line = line(message(1, of: "a"), message(2, of: "a"), message(3, of: "a"))
    #expect(begin(&line, pace: 100) == ["1-0", "2-0"])
  }

  @Test("with many hosts, as many messages start as there are transfers") func ofManyHostsAsManyAreBegunAsThereAreTransfersFor() {
    var line = MessageLine(concurrency: 32, perHost: 8)
    for number in 0..<200 { line.add(message(number, of: "h\(number)", entries: 1)) }
    #expect(begin(&line).count == 128)
    #expect(begin(&line, pace: 1000).count == 72)
  }

  @Test("a higher priority comes first") func aHigherClassComesFirst() {
    var line = line(
      message(1, of: "a"),
      message(2, of: "b", priority: .low),
      message(3, of: "c", priority: .high),
      message(4, of: "d")
    )
    #expect(begin(&line) == ["3-0", "1-0", "4-0", "2-0"])
  }

  @Test("at most half is given away") func atMostHalfIsGivenAway() {
    var line = line(message(1, of: "a"), message(2, of: "a"), message(3, of: "a"), message(4, of: "a"))
    #expect(line.takePart().map(\.message.id.text) == ["3-0", "4-0"])
    #expect(line.takePart().map(\.message.id.text) == ["2-0"])
    #expect(line.takePart().map(\.message.id.text) == ["1-0"])
    #expect(line.takePart().isEmpty)
  }

  @Test("the line asks for more before transfers are idle") func itRunsDryBeforeTransfersAreIdle() {
    var line = line(message(1, of: "a", entries: 16))
    #expect(!line.isRunningDry)
    #expect(begin(&line).count == 1)
    #expect(!line.isRunningDry)
    line.change(message(1, of: "a").host, by: -1)
    #expect(line.isRunningDry)
  }

  @Test("entries without a URL are never held back") func whatHasNoURLIsNeverHeldBack() {
    var line = MessageLine(concurrency: 1, perHost: 1)
    for number in 0..<10 {
      let entry = QueuedEntry(url: 0..<0, manifest: 0, line: 1, state: .filtered)
      let id = QueuedMessage.ID(stream: QueueStream(priority: .normal, isRetry: false), text: "\(number)")
      let message = QueuedMessage(id: id, deliveries: 1, isGivenUp: false, error: nil, bytes: [], entries: [entry])
      line.add(HeldMessage(message))
    }
    var count = 0
    while line.next(pace: 0) != nil { count += 1 }
    #expect(count == 10)
  }
}
