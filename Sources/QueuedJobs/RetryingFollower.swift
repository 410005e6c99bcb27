#if Queue
import Glibc
import ImagePrimitives
import RedisClient
import WarmJobs
import WorkQueues

/// Calls a follower, and repeats the call while its Redis is unreachable, until a signal arrives.
struct RetryingFollower {
  private static let shortestPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(2)
  /// The maximum delay in handling a signal.
  private static let slice = Duration.milliseconds(50)

  let follower: QueueFollower
  let control: RunControl
  /// Called with the reason for waiting, see ``WaitNotice``.
  let note: (String) -> Void
  /// Whether to reject a server that has only ever been a replica as a wrong address.
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

/// Decides when to report a wait for Redis: after a second, and again if the reason changes.
///
/// Shorter waits aren't worth a message. A reported reason isn't repeated before there was no wait for a while, so that
/// a server at its limit doesn't flood the screen.
struct WaitNotice {
  static let patience = Duration.seconds(1)
  static let forgetting = Duration.seconds(30)

  private var begin: MonotonicInstant?
  private var lastTime: MonotonicInstant?
  private var reported: Set<String> = []

  /// Returns the sentence to report now, or nil. Must be called several times a second.
  ///
  /// - Parameter why: the reason for the wait; nil if there is none.
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
    return "\(why); retrying automatically"
  }
}
#endif
