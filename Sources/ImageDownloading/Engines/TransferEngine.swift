import CCurl
import Base

/// Runs transfers: a multi handle with its connections, the transfers that are in it, and the records of libcurl's callbacks.
///
/// It knows neither queue nor jobs: the ``TransferLoop`` starts transfers and takes what they report. One thread at a time uses it.
final class TransferEngine {
  /// Its index among the loop's engines.
  let number: Int
  let record: TransferRecord
  private let multi: CurlMulti
  private let time: TimeSource
  /// All that were ever started here.
  private var transfers: [Transfer] = []
  /// Transfers that libcurl didn't accept.
  private var rejected: [(transfer: Transfer, failure: ImageFailure)] = []

  /// Creates an engine whose ``poll(milliseconds:whenAwake:)`` also watches `wakeDescriptor`.
  init(number: Int, wakeDescriptor: Int32, time: TimeSource) throws(DownloaderError) {
    self.number = number
    self.time = time
    record = TransferRecord(now: time.monotonic())
    multi = try CurlMulti(wakeDescriptor: wakeDescriptor, record: record)
  }

  // libcurl wants its handles freed before the multi handle.
  deinit { transfers.removeAll() }

  /// Sets the maximum number of open connections, including those in use.
  func setMaximumConnections(_ count: Int) { multi.setMaximumConnections(count) }

  /// How many transfers are in libcurl.
  private(set) var running = 0

  /// How long it may sleep unless a socket is ready or something happens at `instant`: rounded up, so that the event is due when the
  /// sleep ends; -1 without limit.
  func sleepMilliseconds(until instant: MonotonicInstant = MonotonicInstant(nanoseconds: .max)) -> Int32 {
    let wake = min(instant.nanoseconds, multi.timer?.nanoseconds ?? .max, record.nextTimeLimit.nanoseconds)
    guard wake < .max else { return -1 }
    let now = time.monotonic().nanoseconds
    return wake <= now ? 0 : Int32(clamping: (wake - now + 999_999) / 1_000_000)
  }

  /// Sleeps until an event, at most `milliseconds` (below 0: without limit), and makes libcurl handle it. Returns whether the wake
  /// descriptor is readable.
  func poll(milliseconds: Int32, whenAwake: (MonotonicInstant) -> Void) -> Bool {
    multi.poll(milliseconds: milliseconds, time: time, whenAwake: whenAwake)
  }

  /// Starts a prepared transfer, which makes progress from ``actOnTime()`` or the next poll on.
  func start(_ transfer: Transfer) {
    if !transfer.isListed {
      transfer.isListed = true
      transfers.append(transfer)
    }
    transfer.isRunning = true
    running += 1
    record.nextTimeLimit = min(record.nextTimeLimit, transfer.earliestTimeLimit)
    let code = multi.add(transfer.easy)
    guard code != CURLM_OK else { return }
    let reason = String(cString: curl_multi_strerror(code))
    rejected.append((transfer, ImageFailure(.internal, message: "libcurl rejected the request: \(reason)")))
  }

  /// Makes libcurl begin started transfers and handle expired timers.
  func actOnTime() { multi.actOnTime() }

  /// Removes a transfer from libcurl, unless it has ended.
  func stop(_ transfer: Transfer) {
    guard transfer.isRunning else { return }
    transfer.isRunning = false
    running -= 1
    multi.remove(transfer.easy)
  }

  /// Calls `conclude` for each transfer that libcurl has ended since the last call. Returns whether there was any.
  @discardableResult
  func concludeEnded(_ conclude: (Transfer, TransferOutcome) -> Void) -> Bool {
    var hasAny = false
    while let ended = multi.nextEnded() {
      var context: UnsafeMutableRawPointer?
      curl_get_pointer(ended.easy, CURLINFO_PRIVATE, &context)
      let transfer = Transfer.of(context)
      let outcome = transfer.outcome(ended.code, at: time)
      stop(transfer)
      conclude(transfer, outcome)
      hasAny = true
    }
    while let (transfer, failure) = rejected.popLast() {
      // It may have been stopped meanwhile.
      guard transfer.isRunning else { continue }
      stop(transfer)
      conclude(transfer, .failure(failure))
      hasAny = true
    }
    return hasAny
  }

  /// Ends transfers that take too long, and computes when to check next.
  func checkTimeLimits(_ conclude: (Transfer, TransferOutcome) -> Void) {
    let now = record.now
    guard now >= record.nextTimeLimit else { return }
    record.nextTimeLimit = MonotonicInstant(nanoseconds: .max)
    for transfer in transfers where transfer.isRunning {
      if let failure = transfer.brokenTimeLimit(now) {
        let outcome = transfer.earlyOutcome(at: time) ?? .failure(failure)
        stop(transfer)
        conclude(transfer, outcome)
      } else {
        record.nextTimeLimit = min(record.nextTimeLimit, transfer.nextTimeLimit)
      }
    }
  }
}

/// What libcurl's callbacks record for the loop, and the engine's time.
final class TransferRecord {
  /// Names a request of a transfer, which serves one after another: a record of an ended one is void.
  struct Request {
    var index: Int
    var run: UInt64
  }

  /// A change of a streamed body.
  enum Streamed {
    /// Its next chunk.
    case chunk(Request, attempt: Int, bytes: [UInt8])
    /// Its chunks so far are void.
    case restart(Request)
  }

  /// A transfer that has resolved its name or connected, and that others of its host wait for.
  struct Advance {
    var request: Request
    var phase: Transfer.Phase
  }

  /// The received part of a body.
  struct Progress {
    var request: Request
    var receivedBytes: Int
    var expectedBytes: Int?
    /// The response's head; nil if it was recorded before.
    var head: ResponseHead?
  }

  /// Read once, after the engine has slept.
  var now: MonotonicInstant
  /// No transfer can exceed a time limit before this.
  var nextTimeLimit = MonotonicInstant(nanoseconds: .max)
  /// In order.
  var streamed: [Streamed] = []
  var advanced: [Advance] = []
  /// The transfers whose progress is to be reported.
  private var progressing: [Transfer] = []
  /// The number of `Set-Cookie` headers since the last check of the jar.
  var cookiesSet = 0
  /// Connections opened so far.
  var openedConnections = 0

  init(now: MonotonicInstant) { self.now = now }

  /// Notes that bytes of `transfer` came, of which the progress is to be reported.
  func note(_ transfer: Transfer) { progressing.append(transfer) }

  /// Calls `body` with the progress since the last call.
  func takeProgress(_ body: (Progress) -> Void) {
    guard !progressing.isEmpty else { return }
    for transfer in progressing {
      if let progress = transfer.takeProgress() { body(progress) }
    }
    progressing.removeAll(keepingCapacity: true)
  }
}
