import Glibc
import TestSupport

/// A file system in memory, of a given size, unmounted in `deinit`.
final class TemporaryMount {
  let directory = TemporaryDirectory()

  /// Whether this process may mount: as root, unless a container forbids it.
  static let isAllowed = geteuid() == 0 && (try? TemporaryMount(byteCount: 1 << 16)) != nil

  struct Refused: Error {}

  init(byteCount: Int) throws {
    try Self.mount("-t", "tmpfs", "-o", "size=\(byteCount)", "tmpfs", directory.path)
  }

  func makeReadOnly() throws { try Self.mount("-o", "remount,ro", directory.path) }

  private static func mount(_ arguments: String...) throws {
    guard try Command("/bin/mount", arguments).wait().status == 0 else { throw Refused() }
  }

  deinit { umount2(directory.path, Int32(MNT_DETACH)) }
}
