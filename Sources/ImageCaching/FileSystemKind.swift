import CLinux

/// What matters of the file system that a folder lies on.
enum FileSystemKind {
  /// Magic numbers of `statfs(2)`, from `linux/magic.h` and from the file systems that it does not know.
  private static let networkNames: [UInt32: String] = [
    0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2", 0x5346_414F: "AFS", 0x6B41_4653: "AFS",
    0x7375_7245: "Coda", 0x564C: "NCP", 0x0102_1997: "9P", 0x00C3_6400: "Ceph", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2",
    0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS", 0x1983_0326: "BeeGFS",
  ]

  /// The name of the network file system of that magic number; nil for any other, on which LMDB's locks and maps work.
  static func networkName(ofMagic magic: Int) -> String? { networkNames[UInt32(truncatingIfNeeded: magic)] }

  /// The name of the network file system that an open file or folder lies on; nil where it is a local one.
  static func networkName(of descriptor: Int32) -> String? {
    var status = statfs()
    guard fstatfs(descriptor, &status) == 0 else { return nil }
    return networkName(ofMagic: Int(status.f_type))
  }

  /// Bytes that may still be written to the file system of an open file; nil where it does not tell.
  static func freeByteCount(of descriptor: Int32) -> Int? {
    var status = statfs()
    guard fstatfs(descriptor, &status) == 0 else { return nil }
    return Int(clamping: status.f_bavail).multipliedReportingOverflow(by: Int(status.f_bsize)).partialValue
  }
}
