import ImageDownloading
import Synchronization

/// What a judge was asked, and by what it decides.
final class JudgeLog: Sendable {
  struct Question {
    var prefix: [UInt8]
    var head: PrefixHead
  }

  private let asked = Mutex<[Question]>([])

  /// All questions so far, in order.
  var questions: [Question] { asked.withLock { $0 } }
  /// The lengths of what was shown.
  var lengths: [Int] { questions.map(\.prefix.count) }

  /// A judge that decides by how many bytes it sees, and notes each question here.
  func judge(_ decide: @escaping @Sendable (Int) -> PrefixVerdict) -> PrefixJudge {
    PrefixJudge(name: "logging") { prefix, head in
      self.asked.withLock { $0.append(Question(prefix: Array(prefix), head: head)) }
      return decide(prefix.count)
    }
  }

  /// One that wants `minimum` bytes, if there are so many, and then accepts.
  func wanting(_ minimum: Int) -> PrefixJudge { judge { $0 < minimum ? .needsMore(minimum: minimum) : .accepted } }
}
