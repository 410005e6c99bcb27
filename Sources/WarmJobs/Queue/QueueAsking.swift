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
  /// Told why it waits, as often as it begins to.
  let note: (String) -> Void

  func ask<Result>(_ body: (QueueFollower) throws(QueueError) -> Result) throws(QueueJobError) -> Result {
    var pause = Self.shortestPause
    var isTold = false
    while true {
      do throws(QueueError) {
        return try body(follower)
      } catch {
        guard case .redis(let refusal) = error, refusal.kind == .unavailable else { throw .queue(error) }
        if !isTold { note("\(error): waiting for it") }
        isTold = true
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
