import ImageDownloading
import Synchronization

/// The calls of a judge.
final class JudgeLog: Sendable {
  struct Question {
    var prefix: [UInt8]
    var head: PrefixHead
  }

  private let asked = Mutex<[Question]>([])

  /// All calls so far, in order.
  var questions: [Question] { asked.withLock { $0 } }
  /// The lengths of the prefixes.
  var lengths: [Int] { questions.map(\.prefix.count) }

  /// A judge that decides by the number of bytes, and records each call here.
  func judge(_ decide: @escaping @Sendable (Int) -> PrefixVerdict) -> PrefixJudge {
    PrefixJudge(name: "logging") { prefix, head in
      self.asked.withLock { $0.append(Question(prefix: Array(prefix), head: head)) }
      return decide(prefix.count)
    }
  }

  /// A judge that needs `minimum` bytes, if there are that many, and then accepts.
  func wanting(_ minimum: Int) -> PrefixJudge { judge { $0 < minimum ? .needsMore(minimum: minimum) : .accepted } }
}
