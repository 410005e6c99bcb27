import Glibc

/// The memory of this process that is its own: anonymous and shared pages, not the page cache that LMDB maps.
enum MemoryUse {
  /// `RssAnon` and `RssShmem` of `/proc/self/status` together, in bytes; 0 where the system does not tell.
  static func current() -> UInt64 {
    let descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return 0 }
    defer { close(descriptor) }
    return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
      let count = Glibc.read(descriptor, buffer.baseAddress!, buffer.count)
      guard count > 0 else { return 0 }
      let text = String(decoding: buffer[..<count], as: UTF8.self)
      return kilobytes(of: "RssAnon:", in: text) * 1024 + kilobytes(of: "RssShmem:", in: text) * 1024
    }
  }

  private static func kilobytes(of key: String, in text: String) -> UInt64 {
    for line in text.split(separator: "\n") where line.hasPrefix(key) {
      return UInt64(line.dropFirst(key.count).filter(\.isNumber)) ?? 0
    }
    return 0
  }
}
