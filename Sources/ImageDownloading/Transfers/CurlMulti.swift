import CCurl
import Platform
import Base

/// libcurl's multi handle on a poller of the system, with the connections of its transfers.
///
/// It is driven by `curl_multi_socket_action` only. libcurl's callbacks only record what to watch and until when; handles are
/// added and removed outside of them.
final class CurlMulti {
  private static let eventLimit = 256
  /// The maximum sleep while a socket can't be watched.
  private static let retryMilliseconds: Int32 = 50

  private let multi: UnsafeMutableRawPointer
  private let poller: Int32
  private let wakeDescriptor: Int32
  private let events: UnsafeMutablePointer<system_event>
  /// When libcurl wants to be called; nil if it waits for sockets only.
  private(set) var timer: MonotonicInstant?
  /// Sockets that the system couldn't watch, for lack of memory or watches: retried until it can. Otherwise, a transfer would wait for
  /// an unwatched event until its time limit.
  private var unwatched: [Int32: Int32] = [:]
  /// Whether a socket is used by transfers.
  private enum Use: UInt8 {
    case used
    /// libcurl no longer watches it, but epoll still does. A persistent connection becomes idle and used again with each request: this way
    /// that takes two system calls instead of three.
    case idle
    /// An idle HTTP/2 connection, which receives frames that don't belong to a response.
    case idleHTTP2
  }

  /// By socket.
  private var uses: [Use] = []
  private let record: TransferRecord

  /// Watches `wakeDescriptor` besides libcurl's sockets.
  init(wakeDescriptor: Int32, record: TransferRecord) throws(DownloaderError) {
    try Curl.requireFeatures()
    poller = system_poller()
    guard poller >= 0 else { throw DownloaderError(message: "\(ThreadError(task: "create a poller", code: errno))") }
    guard let multi = curl_multi_init() else {
      throw DownloaderError(message: "cannot initialise libcurl: out of memory")
    }
    self.multi = multi
    self.wakeDescriptor = wakeDescriptor
    self.record = record
    events = .allocate(capacity: Self.eventLimit)
    let context = Unmanaged.passUnretained(self).toOpaque()
    curl_multi_set_socket_callback(multi, socketChanged, context)
    curl_multi_set_timer_callback(multi, timerChanged, context)
    guard setWatch(of: wakeDescriptor, for: CURL_POLL_IN) else {
      throw DownloaderError(message: "\(ThreadError(task: "watch a descriptor", code: errno))")
    }
  }

  deinit {
    curl_multi_cleanup(multi)
    events.deallocate()
    Platform.close(poller)
  }

  /// Sets the maximum number of open connections, including those in use.
  func setMaximumConnections(_ count: Int) { curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, count) }

  func add(_ easy: UnsafeMutableRawPointer) -> CURLMcode { curl_multi_add_handle(multi, easy) }

  func remove(_ easy: UnsafeMutableRawPointer) { curl_multi_remove_handle(multi, easy) }

  /// Sleeps until an event, at most `milliseconds` (below 0: without limit), and makes libcurl handle it. Returns whether the wake
  /// descriptor is readable.
  func poll(milliseconds: Int32, time: TimeSource, whenAwake: (MonotonicInstant) -> Void) -> Bool {
    for (socket, what) in unwatched { watch(socket, of: nil, for: what) }
    let isLate = !unwatched.isEmpty && !(0...Self.retryMilliseconds).contains(milliseconds)
    let count = system_wait(poller, events, Int32(Self.eventLimit), isLate ? Self.retryMilliseconds : milliseconds)
    record.now = time.monotonic()
    whenAwake(record.now)
    var isWoken = false
    let ready = UnsafeMutableBufferPointer(start: events, count: max(0, Int(count)))
    // Idle ones first: libcurl may close one below, and another thread may then have its number.
    for index in ready.indices where ready[index].descriptor != wakeDescriptor && use(of: ready[index].descriptor) != .used {
      // The server closed it, which libcurl detects before it reuses it, or sent unrequested bytes.
      endIfUnasked(ready[index].descriptor)
      setUse(of: ready[index].descriptor, .used)
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

  /// The next ended transfer with libcurl's result; nil if there is none.
  func nextEnded() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      if message.pointee.msg == CURLMSG_DONE { return (message.pointee.easy_handle, message.pointee.data.result) }
    }
    return nil
  }

  private func act(on socket: Int32, _ flags: Int32) {
    var running: Int32 = 0
    // Only wrong calls return errors; a socket that is unknown by now doesn't.
    curl_multi_socket_action(multi, socket, flags, &running)
  }

  private func flags(of what: Int32) -> Int32 {
    (what & Int32(SYSTEM_READABLE) != 0 ? CURL_CSELECT_IN : 0) | (what & Int32(SYSTEM_WRITABLE) != 0 ? CURL_CSELECT_OUT : 0)
  }

  /// - Parameter easy: the handle of the connection.
  fileprivate func watch(_ socket: Int32, of easy: UnsafeMutableRawPointer?, for what: Int32) {
    let isUnwatched = !unwatched.isEmpty && unwatched.removeValue(forKey: socket) != nil
    // libcurl may be about to close it, which ends the watch too.
    if what == CURL_POLL_REMOVE {
      var version = 0
      if let easy { curl_get_long(easy, CURLINFO_HTTP_VERSION, &version) }
      let use = version == CURL_HTTP_VERSION_2_0 ? Use.idleHTTP2 : .idle
      setUse(of: socket, use)
      endIfUnasked(socket)
      if !isUnwatched { return }
    }
    setUse(of: socket, .used)
    if !setWatch(of: socket, for: what) { unwatched[socket] = what }
  }

  /// Shuts down an idle connection with unread bytes: they would be taken for the next response. libcurl detects that before it reuses the
  /// connection.
  private func endIfUnasked(_ socket: Int32) {
    guard use(of: socket) == .idle else { return }
    var byte: UInt8 = 0
    if recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0 { shutdown(socket, Int32(SHUT_RDWR)) }
  }

  private func use(of socket: Int32) -> Use { Int(socket) < uses.count ? uses[Int(socket)] : .used }

  private func setUse(of socket: Int32, _ use: Use) {
    let index = Int(socket)
    if index >= uses.count {
      guard use != .used else { return }
      uses.append(contentsOf: repeatElement(.used, count: index + 1 - uses.count))
    }
    uses[index] = use
  }

  /// Returns whether the system watches the socket as requested; a closed one needs no watch.
  private func setWatch(of socket: Int32, for what: Int32) -> Bool {
    if what == CURL_POLL_REMOVE { return system_watch(poller, socket, 0) == 0 || errno == ENOENT || errno == EBADF }
    let isReadable = what & CURL_POLL_IN != 0 ? Int32(SYSTEM_READABLE) : 0
    let isWritable = what & CURL_POLL_OUT != 0 ? Int32(SYSTEM_WRITABLE) : 0
    return system_watch(poller, socket, isReadable | isWritable) == 0 || errno == EBADF
  }

  fileprivate func setTimer(milliseconds: Int) {
    timer = milliseconds < 0 ? nil : MonotonicInstant(nanoseconds: record.now.nanoseconds &+ UInt64(milliseconds) &* 1_000_000)
  }
}

private func socketChanged(
  _ easy: UnsafeMutableRawPointer?,
  _ socket: Int32,
  _ what: Int32,
  _ context: UnsafeMutableRawPointer?,
  _: UnsafeMutableRawPointer?
) -> Int32 {
  Unmanaged<CurlMulti>.fromOpaque(context!).takeUnretainedValue().watch(socket, of: easy, for: what)
  return 0
}

private func timerChanged(_: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?) -> Int32 {
  Unmanaged<CurlMulti>.fromOpaque(context!).takeUnretainedValue().setTimer(milliseconds: milliseconds)
  return 0
}
