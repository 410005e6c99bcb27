import Glibc
import Synchronization

/// The end of a pipe or terminal that a test writes to, with one owner, closed once.
final class WritingEnd: Sendable {
  private let descriptor: Mutex<Int32?>

  init(_ descriptor: Int32?) { self.descriptor = Mutex(descriptor) }

  /// Writes all of `bytes` as fast as the other side reads them; false if that is closed.
  func write(_ bytes: [UInt8]) -> Bool {
    descriptor.withLock { descriptor in
      guard let descriptor else { return false }
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress!, $0.count) }
        if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return false }
      }
      return true
    }
  }

  /// Resizes the terminal, for which the kernel sends SIGWINCH to its processes.
  func resize(columns: Int, rows: Int) {
    descriptor.withLock { descriptor in
      guard let descriptor else { return }
      var window = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
      _ = ioctl(descriptor, UInt(TIOCSWINSZ), &window)
    }
  }

  func close() {
    descriptor.withLock { descriptor in
      if let descriptor { Glibc.close(descriptor) }
      descriptor = nil
    }
  }

  deinit { close() }
}
