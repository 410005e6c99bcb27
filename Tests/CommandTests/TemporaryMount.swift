import Glibc
import TestSupport

/// A file system of its own, in memory and of a given size, unmounted when the last reference goes.
final class TemporaryMount {
  let directory = TemporaryDirectory()

  /// Whether this process may mount: root, and in no container that forbids it.
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
