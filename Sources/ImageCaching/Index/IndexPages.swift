import CLMDB
import Platform
import Base

/// Compacts an index by copying it without its free pages, which LMDB never returns to the file system.
enum IndexCompaction {
  private static let draftName = "index.mdb.compacted"

  /// Writes a compacted copy next to the index and syncs it.
  static func writeCopy(of environment: OpaquePointer, in folder: CacheFolder) throws(CacheError) {
    try folder.remove(draftName)
    guard let draft = try folder.open(draftName, O_RDWR | O_CREAT | O_EXCL) else { throw .deleted(path: folder.path) }
    let code = mdb_env_copyfd2(environment, draft.number, UInt32(MDB_CP_COMPACT))
    guard code == MDB_SUCCESS else {
      try folder.remove(draftName)
      throw indexError(code, path: folder.path)
    }
    guard fsync(draft.number) == 0 else { throw folder.writeError(errno) }
  }

  /// Replaces the index by the copy; the environment must be closed. The lock file is removed too, since it counts transactions
  /// that the copy doesn't have.
  static func replaceIndex(in folder: CacheFolder) throws(CacheError) {
    try folder.move(draftName, to: CacheFolder.indexName)
    try folder.remove(CacheFolder.indexLockName)
    try folder.synchronize(".")
  }

  /// The bytes of the file that a long value takes beyond its first page, whose head LMDB reads when it removes the value. nil if the
  /// value has no such pages.
  ///
  /// Layouts are those of `MDB_page` of LMDB 0.9 on 64-bit machines: a value on pages of its own follows the head of the first one.
  static func restOfBody(_ value: UnsafeRawBufferPointer, pageSize: Int) -> Range<Int>? {
    let (headByteCount, ownPages): (Int, UInt16) = (16, 4)
    guard let start = value.baseAddress, pageSize > 0, value.count > pageSize else { return nil }
    let head = UnsafeRawBufferPointer(start: start - headByteCount, count: headByteCount)
    guard Int(bitPattern: head.baseAddress) % pageSize == 0, head.littleEndian(at: 10, as: UInt16.self) == ownPages else {
      return nil
    }
    let (pages, page) = (Int(head.littleEndian(at: 12, as: UInt32.self)), head.littleEndian(at: 0, as: UInt64.self))
    guard pages > 1, (value.count + headByteCount + pageSize - 1) / pageSize == pages, page < UInt64(Int.max / pageSize - pages)
    else {
      return nil
    }
    return (Int(page) + 1) * pageSize..<(Int(page) + pages) * pageSize
  }
}

/// The free pages of an LMDB data file, read without mapping it, from the tree whose root the meta page names.
///
/// A transaction may allocate pages at the end of the file and free them before it commits. They count as pages of the file but
/// were never written, so a process that dies right after its commit leaves an intact file that is shorter than its meta page says.
/// The layouts are those of `MDB_page`, `MDB_node` and `MDB_ID2L` of LMDB 0.9 on 64-bit machines.
struct IndexFreePages {
  private static let headerByteCount = 16
  private static let nodeHeaderByteCount = 8
  private static let (branch, leaf): (UInt16, UInt16) = (1, 2)
  private static let bigData: UInt16 = 1
  /// Deeper than any tree of free pages, to detect loops.
  private static let maximumDepth = 16

  let file: Int32
  let pageSize: Int

  /// Whether all pages of `range` are free according to the tree at `root`; false if the tree can't be read.
  func contain(_ range: Range<Int>, root: Int) -> Bool {
    var missing = Set(range)
    return collect(root, depth: 0, &missing) && missing.isEmpty
  }

  /// Removes the free pages that a subtree lists from `missing`; false if it can't be read.
  private func collect(_ page: Int, depth: Int, _ missing: inout Set<Int>) -> Bool {
    guard depth < Self.maximumDepth, let bytes = read(pageSize, at: page) else { return false }
    return bytes.withUnsafeBytes { bytes in
      let flags = bytes.littleEndian(at: 10, as: UInt16.self)
      let nodes = (Int(bytes.littleEndian(at: 12, as: UInt16.self)) - Self.headerByteCount) / 2
      guard nodes >= 0, Self.headerByteCount + 2 * nodes <= pageSize, flags & (Self.branch | Self.leaf) != 0 else { return false }
      return (0..<nodes).allSatisfy { node in
        let offset = Int(bytes.littleEndian(at: Self.headerByteCount + 2 * node, as: UInt16.self))
        guard offset + Self.nodeHeaderByteCount <= pageSize else { return false }
        let low =
          Int(bytes.littleEndian(at: offset, as: UInt16.self)) | Int(bytes.littleEndian(at: offset + 2, as: UInt16.self)) << 16
        let nodeFlags = bytes.littleEndian(at: offset + 4, as: UInt16.self)
        if flags & Self.branch != 0 { return collect(low | Int(nodeFlags) << 32, depth: depth + 1, &missing) }
        let data = offset + Self.nodeHeaderByteCount + Int(bytes.littleEndian(at: offset + 6, as: UInt16.self))
        guard nodeFlags & Self.bigData != 0 else {
          guard data + low <= pageSize else { return false }
          return take(UnsafeRawBufferPointer(rebasing: bytes[data..<data + low]), &missing)
        }
        guard data + 8 <= pageSize else { return false }
        let first = Int(truncatingIfNeeded: bytes.littleEndian(at: data, as: UInt64.self))
        guard let list = read(low, at: first, from: Self.headerByteCount) else { return false }
        return list.withUnsafeBytes { take($0, &missing) }
      }
    }
  }

  /// Removes the pages of a list from `missing`: a count, followed by page numbers.
  private func take(_ list: UnsafeRawBufferPointer, _ missing: inout Set<Int>) -> Bool {
    guard list.count >= 8 else { return false }
    let count = list.littleEndian(at: 0, as: UInt64.self)
    guard count <= UInt64(list.count / 8 - 1) else { return false }
    for index in 0..<Int(count) {
      missing.remove(Int(truncatingIfNeeded: list.littleEndian(at: 8 + 8 * index, as: UInt64.self)))
    }
    return true
  }

  /// The bytes of one or more consecutive pages; nil if the file ends before them.
  private func read(_ count: Int, at page: Int, from start: Int = 0) -> [UInt8]? {
    let (offset, overflow) = page.multipliedReportingOverflow(by: pageSize)
    guard !overflow, page > 0, offset < .max - start, count <= 1 << 30 else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    let got = uninterrupted { pread(file, &bytes, count, off_t(offset + start)) }
    return got == count ? bytes : nil
  }
}
