import CCurl
import CLinux
import Glibc
import ImagePrimitives

/// libcurl's multi handle on an epoll of ours, with the connections and resolved names of its transfers.
///
/// It is driven by `curl_multi_socket_action` alone. libcurl's callbacks only note what to watch and until when; handles are
/// added and removed outside of them.
final class CurlMulti {
  private static let eventLimit = 256
  /// How long it sleeps at most while a socket is not watched.
  private static let retryMilliseconds: Int32 = 50

  private let multi: UnsafeMutableRawPointer
  private let epoll: Int32
  private let wakeDescriptor: Int32
  private let events: UnsafeMutablePointer<epoll_event>
  /// When libcurl wants to be called; nil where it waits for sockets only.
  private(set) var timer: MonotonicInstant?
  /// What the system would not watch as libcurl wants, for lack of memory or of watches: asked for again until it does. Without that, a
  /// transfer would wait for what nobody tells it, to the end of its time.
  private var unwatched: [Int32: Int32] = [:]
  /// Whether a socket is used by transfers.
  private enum Use: UInt8 {
    case used
    /// libcurl watches it no more, and epoll still does. A connection that is kept goes out of use and into it again with every request:
    /// that costs two calls this way, and three by the book.
    case idle
    /// The same for one of HTTP/2, which brings frames that belong to no answer.
    case idleHTTP2
  }

  /// By socket.
  private var uses: [Use] = []
  private let iteration: LoopIteration

  /// Watches `wakeDescriptor` beside libcurl's sockets.
  init(wakeDescriptor: Int32, iteration: LoopIteration) throws(DownloaderError) {
    try Curl.requireFeatures()
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { throw DownloaderError(system: "epoll_create1") }
    guard let multi = curl_multi_init() else {
      throw DownloaderError(message: "libcurl could not be started: out of memory")
    }
    self.multi = multi
    self.wakeDescriptor = wakeDescriptor
    self.iteration = iteration
    events = .allocate(capacity: Self.eventLimit)
    let context = Unmanaged.passUnretained(self).toOpaque()
    curl_multi_set_socket_callback(multi, socketChanged, context)
    curl_multi_set_timer_callback(multi, timerChanged, context)
    guard setWatch(of: wakeDescriptor, for: CURL_POLL_IN) else { throw DownloaderError(system: "epoll_ctl") }
  }

  deinit {
    curl_multi_cleanup(multi)
    events.deallocate()
    Glibc.close(epoll)
  }

  /// How many connections are kept open, those in use included.
  func setMaximumConnections(_ count: Int) { curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, count) }

  func add(_ easy: UnsafeMutableRawPointer) -> CURLMcode { curl_multi_add_handle(multi, easy) }

  func remove(_ easy: UnsafeMutableRawPointer) { curl_multi_remove_handle(multi, easy) }

  /// Sleeps until something happens, at most `milliseconds` (below 0: without end), and lets libcurl work on what did; true where
  /// the wake descriptor can be read.
  func poll(milliseconds: Int32, time: TimeSource, meter: PipelineMeter) -> Bool {
    for (socket, what) in unwatched { watch(socket, of: nil, for: what) }
    let isLate = !unwatched.isEmpty && !(0...Self.retryMilliseconds).contains(milliseconds)
    let count = epoll_wait(epoll, events, Int32(Self.eventLimit), isLate ? Self.retryMilliseconds : milliseconds)
    iteration.now = time.monotonic()
    meter.transfersWoke(at: iteration.now)
    var isWoken = false
    for index in 0..<max(0, Int(count)) {
      let event = events[index]
      if event.data.fd == wakeDescriptor {
        isWoken = true
      } else if use(of: event.data.fd) != .used {
        // Its server has ended it, which libcurl sees before it uses it, or has sent what nobody asked for.
        endIfUnasked(event.data.fd)
        setUse(of: event.data.fd, .used)
        _ = setWatch(of: event.data.fd, for: CURL_POLL_REMOVE)
      } else {
        act(on: event.data.fd, flags(of: event.events))
      }
    }
    if let timer, timer <= iteration.now { actOnTime() }
    return isWoken
  }

  /// Lets libcurl start what was added and do what is due.
  func actOnTime() {
    timer = nil
    act(on: -1, 0)
  }

  /// The next transfer that has ended, with libcurl's verdict; nil where none has.
  func nextEnded() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      if message.pointee.msg == CURLMSG_DONE { return (message.pointee.easy_handle, message.pointee.data.result) }
    }
    return nil
  }

  private func act(on socket: Int32, _ flags: Int32) {
    var running: Int32 = 0
    // Its errors are those of a wrong call; a socket that is unknown by now is none.
    curl_multi_socket_action(multi, socket, flags, &running)
  }

  private func flags(of events: UInt32) -> Int32 {
    var flags: Int32 = 0
    if events & (EPOLLIN.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { flags |= CURL_CSELECT_IN }
    if events & EPOLLOUT.rawValue != 0 { flags |= CURL_CSELECT_OUT }
    return flags
  }

  /// - Parameter easy: whose connection it is.
  fileprivate func watch(_ socket: Int32, of easy: UnsafeMutableRawPointer?, for what: Int32) {
    let isUnwatched = !unwatched.isEmpty && unwatched.removeValue(forKey: socket) != nil
    // Whether it is about to be closed nobody knows; that ends the watch too.
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

  /// Ends an idle connection on which there is something to read: behind the answer that was asked for, it would be taken for the next
  /// one's. libcurl sees that it has ended before it uses it.
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

  /// Says whether the system does as it is told; a socket that is closed needs no watch.
  private func setWatch(of socket: Int32, for what: Int32) -> Bool {
    var event = epoll_event()
    event.data.fd = socket
    if what & CURL_POLL_IN != 0 { event.events |= EPOLLIN.rawValue }
    if what & CURL_POLL_OUT != 0 { event.events |= EPOLLOUT.rawValue }
    if what == CURL_POLL_REMOVE {
      return epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &event) == 0 || errno == ENOENT || errno == EBADF
    }
    if epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) == 0 { return true }
    guard errno == ENOENT else { return errno == EBADF }
    return epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0
  }

  fileprivate func setTimer(milliseconds: Int) {
    timer = milliseconds < 0 ? nil : MonotonicInstant(nanoseconds: iteration.now.nanoseconds &+ UInt64(milliseconds) &* 1_000_000)
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
