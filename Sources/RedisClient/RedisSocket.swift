#if Queue
import CHiredis
import Glibc
import ImagePrimitives

/// A connected socket. hiredis only connects it; this type reads and writes it, since hiredis 0.14's `write` raises SIGPIPE.
struct RedisSocket: ~Copyable {
  /// What failed, as a part of a sentence.
  struct ConnectionError: Error { let what: String }

  private static let receiveFlags = Int32(MSG_DONTWAIT)
  private static let sendFlags = Int32(MSG_NOSIGNAL) | receiveFlags

  private let descriptor: Int32

  /// Connects within `timeout`; looking up the host's name may take longer.
  init(_ endpoint: RedisAddress.Endpoint, timeout: Duration) throws(ConnectionError) {
    let microseconds = timeout.wholeNanoseconds / 1000
    let time = timeval(tv_sec: Int(microseconds / 1_000_000), tv_usec: Int(microseconds % 1_000_000))
    let context =
      switch endpoint {
      case .host(let host, let port): redisConnectWithTimeout(host, Int32(port), time)
      case .socket(let path): redisConnectUnixWithTimeout(path, time)
      }
    guard let context else { throw ConnectionError(what: "cannot be reached: out of memory") }
    guard context.pointee.err == 0 else {
      let text = withUnsafeBytes(of: context.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      redisFree(context)
      throw ConnectionError(what: "cannot be reached: \(text)")
    }
    // Detects a server that disappeared within minutes instead of hours.
    if case .host = endpoint { redisEnableKeepAlive(context) }
    descriptor = redisFreeKeepFd(context)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  deinit { close(descriptor) }

  /// Sends all of `bytes`; each part must be sent within `timeout`.
  func send(_ bytes: UnsafeRawBufferPointer, timeout: Duration) throws(ConnectionError) {
    var rest = bytes
    while let base = rest.baseAddress, !rest.isEmpty {
      let count = Glibc.send(descriptor, base, rest.count, Self.sendFlags)
      if count >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      } else {
        try wait(for: POLLOUT, timeout: timeout, after: errno)
      }
    }
  }

  /// Receives at least one byte within `timeout`, and returns the number of bytes written to `buffer`.
  func receive(into buffer: UnsafeMutableRawBufferPointer, timeout: Duration) throws(ConnectionError) -> Int {
    while true {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, Self.receiveFlags)
      if count > 0 { return count }
      if count == 0 { throw ConnectionError(what: "closed the connection") }
      try wait(for: POLLIN, timeout: timeout, after: errno)
    }
  }

  private func wait(for events: Int32, timeout: Duration, after code: Int32) throws(ConnectionError) {
    if code == EINTR { return }
    guard code == EAGAIN || code == EWOULDBLOCK else {
      throw ConnectionError(what: "lost the connection: \(errorSentence(code))")
    }
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    // An interrupted wait restarts; it would take endless interruptions to make it endless.
    let ready = poll(&entry, 1, Int32(clamping: timeout.wholeMilliseconds))
    if ready == 0 { throw ConnectionError(what: "hasn't responded for \(timeout.wholeMilliseconds) ms") }
  }
}
#endif
