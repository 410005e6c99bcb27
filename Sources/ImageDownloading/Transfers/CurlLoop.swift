import CCurl
import Base

/// Runs transfers: a multi handle with its connections, the transfers that are in it, and the records of libcurl's callbacks.
///
/// It knows neither queue nor jobs: the ``DownloadScheduler`` starts transfers and takes what they report. One thread at a time uses it.
final class CurlLoop {
  /// Its index among the scheduler's loops.
  let number: Int
  let record: TransferRecord
  private let multi: CurlMulti
  private let time: TimeSource
  /// All that were ever started here.
  private var transfers: [Transfer] = []
  /// Transfers that libcurl didn't accept.
  private var rejected: [(transfer: Transfer, failure: ImageFailure)] = []

  /// Creates a loop whose ``poll(milliseconds:whenAwake:)`` also watches `wakeDescriptor`.
  init(number: Int, wakeDescriptor: Int32, time: TimeSource) throws(DownloaderError) {
    self.number = number
    self.time = time
    record = TransferRecord(loop: number, now: time.monotonic())
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

  /// Ends the transfers that libcurl has ended or that take too long, and moves what has happened since the last call into `report`, whose
  /// storage is reused.
  func takeReport(_ report: inout CurlReport) {
    record.reportProgress()
    concludeEnded()
    checkTimeLimits()
    swap(&report, &record.report)
    record.report.removeAll()
    record.report.openedConnections = report.openedConnections
  }

  private func concludeEnded() {
    while let ended = multi.nextEnded() {
      var context: UnsafeMutableRawPointer?
      curl_get_pointer(ended.easy, CURLINFO_PRIVATE, &context)
      let transfer = Transfer.of(context)
      conclude(transfer, transfer.outcome(ended.code, at: time))
    }
    while let (transfer, failure) = rejected.popLast() {
      // It may have been stopped meanwhile.
      if transfer.isRunning { conclude(transfer, .failure(failure)) }
    }
  }

  /// Ends transfers that take too long, and computes when to check next.
  private func checkTimeLimits() {
    let now = record.now
    guard now >= record.nextTimeLimit else { return }
    record.nextTimeLimit = MonotonicInstant(nanoseconds: .max)
    for transfer in transfers where transfer.isRunning {
      if let failure = transfer.brokenTimeLimit(now) {
        conclude(transfer, transfer.earlyOutcome(at: time) ?? .failure(failure))
      } else {
        record.nextTimeLimit = min(record.nextTimeLimit, transfer.nextTimeLimit)
      }
    }
  }

  private func conclude(_ transfer: Transfer, _ outcome: TransferOutcome) {
    stop(transfer)
    record.report.ended.append((transfer.id, outcome))
  }
}
