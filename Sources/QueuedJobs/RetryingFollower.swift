#if Queue
import Glibc
import ImagePrimitives
import RedisClient
import WarmJobs
import WorkQueues

/// Asks a queue, and again as long as its Redis cannot be reached, until a signal comes.
struct RetryingFollower {
  private static let shortestPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(2)
  /// How long a signal waits to be heard at most.
  private static let slice = Duration.milliseconds(50)

  let follower: QueueFollower
  let control: RunControl
  /// Told why it waits, see ``WaitNotice``.
  let note: (String) -> Void
  /// Whether a replica that was never anything else is a wrong address.
  var refusesReplicas = false

  func retrying<Result>(_ body: (QueueFollower) throws(QueueError) -> Result) throws(QueueJobError) -> Result {
    var pause = Self.shortestPause
    var notice = WaitNotice()
    while true {
      do throws(QueueError) {
        return try body(follower)
      } catch {
        guard case .redis(let refusal) = error, refusal.passes(hasWritten: !refusesReplicas) else { throw .queue(error) }
        if let sentence = notice.sentence("\(error)", now: TimeSource.system.monotonic()) { note(sentence) }
      }
      try sleep(pause)
      pause = min(pause * 2, Self.longestPause)
    }
  }

  /// Sleeps; a signal ends that at once.
  func sleep(_ duration: Duration) throws(QueueJobError) {
    var left = duration
    while left > .zero {
      if control.signal != nil { throw .interrupted }
      usleep(UInt32(min(left, Self.slice).wholeNanoseconds / 1000))
      left = left - Self.slice
    }
    if control.signal != nil { throw .interrupted }
  }
}

/// When a person is told that Redis is waited for: once that has lasted a second, and again where the reason becomes another.
///
/// What ends within a second is not worth a word. What has been told is not told again before all has gone well for a while, so
/// that a server at its limit does not fill the screen.
struct WaitNotice {
  static let patience = Duration.seconds(1)
  static let forgetting = Duration.seconds(30)

  private var begin: MonotonicInstant?
  private var lastTime: MonotonicInstant?
  private var reported: Set<String> = []

  /// The sentence to be told now; nil where there is none. To be called several times a second.
  ///
  /// - Parameter why: the reason of the wait; nil where there is none.
  mutating func sentence(_ why: String?, now: MonotonicInstant) -> String? {
    if let lastTime, now.since(lastTime) >= Self.forgetting { reported = [] }
    guard let why else {
      begin = nil
      return nil
    }
    lastTime = now
    let begin = begin ?? now
    self.begin = begin
    guard now.since(begin) >= Self.patience, reported.insert(why).inserted else { return nil }
    return "\(why): waiting for it, and going on by itself"
  }
}
#endif
