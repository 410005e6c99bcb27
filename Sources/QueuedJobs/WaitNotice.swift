import WarmJobs
import ImagePrimitives

/// When a person is told that Redis is waited for: once that has lasted a second, and again where the reason becomes another.
///
/// What ends within a second is not worth a word. What has been told is not told again before all has gone well for a while, so that a
/// server at its limit does not fill the screen.
struct WaitNotice {
  static let patience = Duration.seconds(1)
  static let forgetting = Duration.seconds(30)

  private var begin: MonotonicInstant?
  private var lastTime: MonotonicInstant?
  private var told: Set<String> = []

  /// The sentence to be told now; nil where there is none. To be called several times a second.
  ///
  /// - Parameter why: the reason of the wait; nil where there is none.
  mutating func sentence(_ why: String?, now: MonotonicInstant) -> String? {
    if let lastTime, now.since(lastTime) >= Self.forgetting { told = [] }
    guard let why else {
      begin = nil
      return nil
    }
    lastTime = now
    let begin = begin ?? now
    self.begin = begin
    guard now.since(begin) >= Self.patience, told.insert(why).inserted else { return nil }
    return "\(why): waiting for it, and going on by itself"
  }
}
