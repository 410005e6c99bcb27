import WarmJobs
import Glibc
import ImagePrimitives
import RedisClient
import WorkQueues

/// Asks a queue, and again as long as its Redis cannot be reached, until a signal comes.
struct QueueAsking {
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

  func ask<Result>(_ body: (QueueFollower) throws(QueueError) -> Result) throws(QueueJobError) -> Result {
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
