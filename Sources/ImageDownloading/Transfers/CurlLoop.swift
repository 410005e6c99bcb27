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
    conclude(transfer, .failure(ImageFailure(.internal, message: "libcurl rejected the request: \(reason)")))
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
    var outcome = outcome
    if case .failure(let failure) = outcome { outcome = .failure(transfer.namingUnusedProxy(failure)) }
    record.report.events.append((transfer.id, .ended(outcome)))
  }
}

/// What a loop has recorded for the scheduler since it was last asked.
///
/// `@unchecked Sendable`: what it refers to belongs to its receiver.
struct CurlReport: @unchecked Sendable {
  /// Names a request of a transfer, which serves one after another: a record of an ended one is void.
  struct ID {
    var index: Int
    var run: UInt64
  }

  enum Event {
    /// It has resolved its name or connected, and others of its host wait for that.
    case advanced(Transfer.Phase)
    /// The next chunk of its streamed body.
    case chunk(attempt: Int, [UInt8])
    /// Its chunks so far are void.
    case restarted
    /// The received part of its body, and the response's head unless it was recorded before.
    case progressed(receivedBytes: Int, expectedBytes: Int?, head: ResponseHead?)
    case ended(TransferOutcome)
  }

  let loop: Int
  /// In order.
  var events: [(id: ID, event: Event)] = []
  /// The number of `Set-Cookie` headers.
  var cookiesSet = 0
  /// All connections opened so far.
  var openedConnections = 0

  init(_ loop: Int) { self.loop = loop }

  /// Removes everything but the number of connections.
  mutating func removeAll() {
    events.removeAll(keepingCapacity: true)
    cookiesSet = 0
  }
}

/// What the transfers of a loop share: its time, and their part of its report, written in libcurl's callbacks.
final class TransferRecord {
  /// Read once, after the loop has slept.
  var now: MonotonicInstant
  /// No transfer can exceed a time limit before this.
  var nextTimeLimit = MonotonicInstant(nanoseconds: .max)
  var report: CurlReport
  /// The transfers whose progress is to be reported.
  private var progressing: [Transfer] = []

  init(loop: Int, now: MonotonicInstant) {
    report = CurlReport(loop)
    self.now = now
  }

  /// Notes that bytes of `transfer` came, of which the progress is to be reported.
  func note(_ transfer: Transfer) { progressing.append(transfer) }

  /// Adds the progress that was noted since the last call to the report.
  func reportProgress() {
    guard !progressing.isEmpty else { return }
    for transfer in progressing { if let progress = transfer.takeProgress() { report.events.append((transfer.id, progress)) } }
    progressing.removeAll(keepingCapacity: true)
  }
}
