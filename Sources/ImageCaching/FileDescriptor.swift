import Glibc

/// An open file or folder, closed when its owner goes.
struct FileDescriptor: ~Copyable, Sendable {
  let number: Int32

  /// Takes over an open descriptor.
  init(owning number: Int32) { self.number = number }

  deinit { close(number) }

  /// What `fstat` tells; nil where it fails, which it does not on an open descriptor of a sound file system.
  var status: stat? {
    var status = stat()
    return fstat(number, &status) == 0 ? status : nil
  }
}

/// The system's sentence on an error number; that of the last call where none is given.
func errorSentence(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }

/// Whether an error number says that there is no room, or none for this user.
func saysDiskFull(_ number: Int32) -> Bool { number == ENOSPC || number == EDQUOT || number == EFBIG }

/// Makes a call until no signal interrupts it; a negative result is a failure that `errno` tells.
func uninterrupted<T: SignedInteger>(_ call: () -> T) -> T {
  while true {
    let result = call()
    if result >= 0 || errno != EINTR { return result }
  }
}

/// Writes all bytes at the descriptor's position; false where it fails, which `errno` tells.
func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
  var rest = bytes
  while !rest.isEmpty {
    let count = uninterrupted { write(descriptor, rest.baseAddress, rest.count) }
    if count < 0 { return false }
    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
  }
  return true
}

/// Reads up to `limit` bytes from the descriptor's position to its end; nil where it fails, which `errno` tells.
func readAll(_ descriptor: Int32, limit: Int) -> [UInt8]? {
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
