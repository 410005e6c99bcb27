import Glibc

/// Which folder it is, by whatever path it was reached: its device and inode.
///
/// No other folder has the same as long as somebody has this one open, be it moved or deleted meanwhile.
public struct FolderIdentity: Sendable, Hashable {
  private let device: UInt
  private let inode: UInt

  init(_ status: stat) {
    device = UInt(status.st_dev)
    inode = UInt(status.st_ino)
  }
}
