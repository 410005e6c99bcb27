import ImagePrimitives
import RedisClient

/// What the server has answered to a turn's questions; what makes no sense is passed over, since it is foreign input.
struct PolitenessAnswers {
  struct Rest: Equatable {
    var origin: String
    var duration: Duration
    var status: Int
  }

  /// Before all rests that were ever left word of.
  static let firstRest: RedisArgument = "0-0"
  /// Nobody rests for longer.
  private static let maximumRestMilliseconds: Int64 = 10 * 365 * 86_400_000

  var starts: [ReservedStarts] = []
  var rests: [Rest] = []
  var lastRest: RedisArgument?

  /// How many workers there are, as the look for rests tells it, whose reply is the last.
  static func workers(_ replies: [RedisReply]) -> Int? {
    guard let found = replies.last?.array, found.count == 3 else { return nil }
    return found[2].integer.flatMap { $0 > 0 ? Int(clamping: $0) : nil }
  }

  /// The replies to: so many rests, those reservations, and the look for rests; which came at `now`.
  ///
  /// A delay counts from when its reply has come, though the server measured it from when it ran the script, which was earlier.
  /// So no start is earlier than the server has it, but later by the reply's way; all workers' starts in any time are no more
  /// than the server has in that time and the longest such way. Were it counted from when the question was sent, starts could be
  /// early, and a rate that the server keeps exactly would be exceeded by who has the slower connection. Only differences travel:
  /// clocks need not agree.
  init(_ replies: ArraySlice<RedisReply>, reservations: [StartReservation], rests restCount: Int, at now: MonotonicInstant) {
    var replies = replies.dropFirst(restCount)
    for wanted in reservations {
      guard let delay = replies.popFirst()?.integer, delay >= 0 else { continue }
      starts.append(
        ReservedStarts(
          origin: wanted.origin,
          count: wanted.count,
          first: now.advanced(by: .microseconds(delay)),
          intervalNanoseconds: wanted.intervalMicroseconds * 1000
        )
      )
    }
    guard let found = replies.popFirst()?.array, found.count == 3 else { return }
    lastRest = found[0].bytes.map { RedisArgument($0) }
    let fields = found[1].array ?? []
    for place in stride(from: 0, to: fields.count - 2, by: 3) {
      guard let origin = fields[place].text, let left = fields[place + 1].integer, left > 0 else { continue }
      let status = fields[place + 2].integer.flatMap { (100...599).contains($0) ? Int($0) : nil }
      guard let status, origin.utf8.count <= 1024 else { continue }
      rests.append(Rest(origin: origin, duration: .milliseconds(min(left, Self.maximumRestMilliseconds)), status: status))
    }
  }
}
