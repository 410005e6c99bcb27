import Glibc

/// A file system in memory, of a given size, unmounted in `deinit`.
public final class TemporaryMount: Sendable {
  public let directory = TemporaryDirectory()

  /// Whether this process may mount: as root, unless a container forbids it.
  public static let isAllowed = geteuid() == 0 && (try? TemporaryMount(byteCount: 1 << 16)) != nil

  private struct Refused: Error {}

  public init(byteCount: Int) throws {
    try Self.mount("-t", "tmpfs", "-o", "size=\(byteCount)", "tmpfs", directory.path)
  }

  /// Takes all room but `byteCount`.
  public func fill(leaving byteCount: Int = 0) {
    let file = open(directory.file("filler-\(UInt64.random(in: 0 ... .max))"), O_WRONLY | O_CREAT | O_EXCL, 0o600)
    defer { close(file) }
    let block = [UInt8](repeating: 1, count: 4096)
    while freeByteCount > byteCount, write(file, block, block.count) > 0 {}
  }

  /// Bytes that may still be written.
  public var freeByteCount: Int {
    var status = statvfs()
    return statvfs(directory.path, &status) == 0 ? Int(status.f_bavail) * Int(status.f_bsize) : 0
  }

  public func makeReadOnly() throws { try Self.mount("-o", "remount,ro", directory.path) }

  private static func mount(_ arguments: String...) throws {
    guard try Command("/bin/mount", arguments).wait().status == 0 else { throw Refused() }
  }

  deinit { umount2(directory.path, Int32(MNT_DETACH)) }
}
