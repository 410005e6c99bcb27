import Glibc

/// The private memory of this process: anonymous and shared pages, without the page cache that LMDB maps.
enum MemoryUse {
  /// The sum of `RssAnon` and `RssShmem` in `/proc/self/status`, in bytes; 0 if the system doesn't report them.
  static func current() -> UInt64 {
    let descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return 0 }
    defer { close(descriptor) }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
      let count = Glibc.read(descriptor, buffer.baseAddress!, buffer.count - 1)
      guard count > 0, let text = buffer.baseAddress else { return 0 }
      text[count] = 0
      return (kilobytes(of: "RssAnon:", in: text) + kilobytes(of: "RssShmem:", in: text)) * 1024
    }
  }

  private static func kilobytes(of key: String, in text: UnsafePointer<CChar>) -> UInt64 {
    guard let field = strstr(text, key) else { return 0 }
    return UInt64(strtoull(field + key.utf8.count, nil, 10))
  }
}
