import CCurl
import Platform
import Base

/// Runs transfers: libcurl's multi handle on a poller, with its connections and transfers, and the records of its callbacks.
///
/// It knows neither queue nor jobs: the ``DownloadScheduler`` starts transfers and takes what they report. One thread at a time
/// uses it. libcurl's callbacks only record what to watch and until when; handles are added and removed outside.
final class CurlLoop {
  private static let eventLimit = 256
  /// The maximum sleep while a socket can't be watched.
  private static let retryMilliseconds: Int32 = 50

  /// Its index among the scheduler's loops.
  let number: Int
  let record: TransferRecord
  private let multi: UnsafeMutableRawPointer
  private let poller: Int32
  private let wakeDescriptor: Int32
  private let events: UnsafeMutablePointer<system_event>
  private let time: TimeSource
  /// When libcurl wants to be called; nil if it waits for sockets only.
  private var timer: MonotonicInstant?
  /// Sockets that the system couldn't watch, for lack of memory or watches: retried, or transfers would wait for nothing.
  private var unwatched: [Int32: Int32] = [:]
  /// All that were ever started here.
  private var transfers: [Transfer] = []
  private(set) var running = 0

  /// Creates a loop whose ``poll(milliseconds:whenAwake:)`` also watches `wakeDescriptor`.
  init(number: Int, wakeDescriptor: Int32, time: TimeSource) throws(DownloaderError) {
    try Curl.requireFeatures()
    poller = system_poller()
    guard poller >= 0 else { throw DownloaderError(message: "\(ThreadError(task: "create a poller", code: errno))") }
    guard let multi = curl_multi_init() else {
      throw DownloaderError(message: "cannot initialise libcurl: out of memory")
    }
    self.multi = multi
    events = .allocate(capacity: Self.eventLimit)
    self.number = number
    self.wakeDescriptor = wakeDescriptor
    self.time = time
    record = TransferRecord(loop: number, poller: poller, now: time.monotonic())
    let context = Unmanaged.passUnretained(self).toOpaque()
    curl_multi_set_socket_callback(
      multi,
      { easy, socket, what, context, _ in
        CurlLoop.of(context).watch(socket, of: easy, for: what)
        return 0
      },
      context
    )
    curl_multi_set_timer_callback(
      multi,
      { _, milliseconds, context in
        CurlLoop.of(context).setTimer(milliseconds: milliseconds)
        return 0
      },
      context
    )
    guard setWatch(of: wakeDescriptor, for: CURL_POLL_IN) else {
      throw DownloaderError(message: "\(ThreadError(task: "watch a descriptor", code: errno))")
    }
  }

  deinit {
    // libcurl wants its handles freed before the multi handle.
    transfers.removeAll()
    curl_multi_cleanup(multi)
    events.deallocate()
    Platform.close(poller)
  }

  /// Sets the maximum number of open connections, including those in use.
  func setMaximumConnections(_ count: Int) { curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, count) }

  /// Shuts down kept connections that no transfer uses; libcurl then opens new ones.
  func closeIdleConnections() {
    for socket in record.idleSockets { shutdown(socket, Int32(SHUT_RDWR)) }
  }

  /// How long it may sleep unless a socket is ready or something is due at `instant`, rounded up; -1 without limit.
  func sleepMilliseconds(until instant: MonotonicInstant = MonotonicInstant(nanoseconds: .max)) -> Int32 {
    let wake = min(instant.nanoseconds, timer?.nanoseconds ?? .max, record.nextTimeLimit.nanoseconds)
    guard wake < .max else { return -1 }
    let now = time.monotonic().nanoseconds
    return wake <= now ? 0 : Int32(clamping: (wake - now + 999_999) / 1_000_000)
  }

  /// Sleeps until an event, at most `milliseconds` (-1: no limit), and makes libcurl handle it. Returns whether it was woken.
  func poll(milliseconds: Int32, whenAwake: (MonotonicInstant) -> Void) -> Bool {
    for (socket, what) in unwatched { watch(socket, of: nil, for: what) }
    let isLate = !unwatched.isEmpty && !(0...Self.retryMilliseconds).contains(milliseconds)
    let count = system_wait(poller, events, Int32(Self.eventLimit), isLate ? Self.retryMilliseconds : milliseconds)
    record.now = time.monotonic()
    whenAwake(record.now)
    var isWoken = false
    let ready = UnsafeMutableBufferPointer(start: events, count: max(0, Int(count)))
    // Idle ones first: libcurl may close one below, and another thread may then have its number.
    for index in ready.indices where record.use(of: ready[index].descriptor).isIdle {
      // The server closed it, which libcurl detects before it reuses it, or sent unrequested bytes.
      endIfUnasked(ready[index].descriptor)
      record.setUse(of: ready[index].descriptor, .used)
      _ = setWatch(of: ready[index].descriptor, for: CURL_POLL_REMOVE)
      ready[index].descriptor = -1
    }
    for event in ready where event.descriptor >= 0 {
      if event.descriptor == wakeDescriptor { isWoken = true } else { act(on: event.descriptor, flags(of: event.what)) }
    }
    if let timer, timer <= record.now { actOnTime() }
    return isWoken
  }

  /// Makes libcurl start added transfers and handle expired timers.
  func actOnTime() {
    timer = nil
    act(on: -1, 0)
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
    let code = curl_multi_add_handle(multi, transfer.easy)
    guard code != CURLM_OK else { return }
    let reason = String(cString: curl_multi_strerror(code))
    conclude(transfer, .failure(ImageFailure(.internal, message: "libcurl rejected the request: \(reason)")))
  }

  /// Removes a transfer from libcurl, unless it has ended.
  func stop(_ transfer: Transfer) {
    guard transfer.isRunning else { return }
    transfer.isRunning = false
    running -= 1
    curl_multi_remove_handle(multi, transfer.easy)
  }

  /// Ends transfers that libcurl has ended or that take too long, and moves all that happened into `report`, reusing its storage.
  func takeReport(_ report: inout CurlReport) {
    for transfer in record.progressing {
      if let progress = transfer.takeProgress() { record.report.events.append((transfer.id, progress)) }
    }
    record.progressing.removeAll(keepingCapacity: true)
    concludeEnded()
    checkTimeLimits()
    swap(&report, &record.report)
    record.report.removeAll()
    record.report.openedConnections = report.openedConnections
  }

  private func concludeEnded() {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE else { continue }
      var context: UnsafeMutableRawPointer?
      curl_get_pointer(message.pointee.easy_handle, CURLINFO_PRIVATE, &context)
      let transfer = Transfer.of(context)
      conclude(transfer, transfer.outcome(message.pointee.data.result, at: time))
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

  // MARK: Sockets

  private func act(on socket: Int32, _ flags: Int32) {
    var running: Int32 = 0
    // Only wrong calls return errors; a socket that is unknown by now doesn't.
    curl_multi_socket_action(multi, socket, flags, &running)
  }

  private func flags(of what: Int32) -> Int32 {
    (what & Int32(SYSTEM_READABLE) != 0 ? CURL_CSELECT_IN : 0) | (what & Int32(SYSTEM_WRITABLE) != 0 ? CURL_CSELECT_OUT : 0)
  }

  /// - Parameter easy: the handle of the connection.
  private func watch(_ socket: Int32, of easy: UnsafeMutableRawPointer?, for what: Int32) {
    let isUnwatched = !unwatched.isEmpty && unwatched.removeValue(forKey: socket) != nil
    if what == CURL_POLL_REMOVE, record.use(of: socket) != .other {
      var version = 0
      if let easy { curl_get_long(easy, CURLINFO_HTTP_VERSION, &version) }
      record.setUse(of: socket, version == CURL_HTTP_VERSION_2_0 ? .idleHTTP2 : .idle)
      endIfUnasked(socket)
      if !isUnwatched { return }
    }
    if record.use(of: socket) != .other { record.setUse(of: socket, .used) }
    if !setWatch(of: socket, for: what) { unwatched[socket] = what }
  }

  /// Shuts down an idle connection with unread bytes, which would be taken for the next response; libcurl then doesn't reuse it.
  private func endIfUnasked(_ socket: Int32) {
    guard record.use(of: socket) == .idle else { return }
    var byte: UInt8 = 0
    if recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0 { shutdown(socket, Int32(SHUT_RDWR)) }
  }

  /// Returns whether the system watches the socket as requested; a closed one needs no watch.
  private func setWatch(of socket: Int32, for what: Int32) -> Bool {
    if what == CURL_POLL_REMOVE { return system_watch(poller, socket, 0) == 0 || errno == ENOENT || errno == EBADF }
    let isReadable = what & CURL_POLL_IN != 0 ? Int32(SYSTEM_READABLE) : 0
    let isWritable = what & CURL_POLL_OUT != 0 ? Int32(SYSTEM_WRITABLE) : 0
    return system_watch(poller, socket, isReadable | isWritable) == 0 || errno == EBADF
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> CurlLoop {
    Unmanaged<CurlLoop>.fromOpaque(context!).takeUnretainedValue()
  }

  private func setTimer(milliseconds: Int) {
    timer = milliseconds < 0 ? nil : MonotonicInstant(nanoseconds: record.now.nanoseconds &+ UInt64(milliseconds) &* 1_000_000)
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
  var progressing: [Transfer] = []
  private let poller: Int32
  /// By socket.
  private var uses: [Use] = []

  /// Who uses a socket.
  enum Use: UInt8 {
    /// No connection: it wakes libcurl after a name was resolved.
    case other
    case used
    /// libcurl doesn't watch it, but epoll does: a kept connection is idle between all requests, so that saves system calls.
    case idle
    /// An idle HTTP/2 connection, which receives frames that don't belong to a response.
    case idleHTTP2

    var isIdle: Bool { self == .idle || self == .idleHTTP2 }
  }

  init(loop: Int, poller: Int32, now: MonotonicInstant) {
    report = CurlReport(loop)
    (self.poller, self.now) = (poller, now)
  }

  func use(of socket: Int32) -> Use { Int(socket) < uses.count ? uses[Int(socket)] : .other }

  var idleSockets: [Int32] { uses.indices.filter { uses[$0].isIdle }.map(Int32.init) }

  func setUse(of socket: Int32, _ use: Use) {
    let index = Int(socket)
    if index >= uses.count { uses.append(contentsOf: repeatElement(.other, count: index + 1 - uses.count)) }
    uses[index] = use
  }

  /// Closes a connection's socket. Closing alone doesn't end the watch while a process that was just forked has the socket, too; the number
  /// may be another socket's by then, which would be taken for an idle one of ours.
  func close(_ socket: Int32) {
    _ = system_watch(poller, socket, 0)
    setUse(of: socket, .other)
    Platform.close(socket)
  }
}
