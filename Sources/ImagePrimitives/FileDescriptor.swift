package import Glibc

/// An open file or folder, closed when its owner goes.
package struct FileDescriptor: ~Copyable, Sendable {
  package let number: Int32

  /// Takes over an open descriptor.
  package init(owning number: Int32) { self.number = number }

  deinit { close(number) }

  /// What `fstat` returns; nil if it fails, which it does not on an open descriptor of a sound file system.
  package var status: stat? {
    var status = stat()
    return fstat(number, &status) == 0 ? status : nil
  }
}

/// Returns the system's sentence on an error number; by default that of the last call.
package func errorSentence(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }

/// Makes a call until no signal interrupts it; a negative result is a failure that `errno` tells.
package func uninterrupted<T: SignedInteger>(_ call: () -> T) -> T {
  while true {
    let result = call()
    if result >= 0 || errno != EINTR { return result }
  }
}

/// Writes all bytes at the descriptor's position, and waits if it takes no more now; false if it fails, as `errno` tells.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
  var rest = bytes
  while !rest.isEmpty {
    let count = uninterrupted { write(descriptor, rest.baseAddress, rest.count) }
    if count >= 0 {
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    } else if errno == EAGAIN {
      // A standard stream may be a pipe that another program made non-blocking.
      var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      poll(&poller, 1, -1)
    } else {
      return false
    }
  }
  return true
}

/// Reads up to `limit` bytes from the descriptor's position to its end; nil if it fails, as `errno` tells.
package func readAll(_ descriptor: Int32, limit: Int) -> [UInt8]? {
  var failed = false
  let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, filled in
    while filled < limit {
      let count = uninterrupted { read(descriptor, buffer.baseAddress! + filled, limit - filled) }
      if count < 0 { failed = true }
      if count <= 0 { return }
      filled += count
    }
  }
  return failed ? nil : bytes
}

/// Reads from `offset` as much as there is up to the length of `destination`, and returns how much; nil if it fails, as `errno` tells.
package func readAll(_ descriptor: Int32, at offset: UInt64, into destination: UnsafeMutableRawBufferPointer) -> Int? {
  var done = 0
  while done < destination.count {
    let count = uninterrupted {
      pread(descriptor, destination.baseAddress! + done, destination.count - done, off_t(offset) + off_t(done))
    }
    if count < 0 { return nil }
    if count == 0 { break }
    done += count
  }
  return done
}
