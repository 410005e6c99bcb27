import Glibc

/// What stands in the first pages of an LMDB data file, read before LMDB maps it.
///
/// LMDB opens a file that was cut off, and the process dies by SIGBUS where it touches what is missing. Offsets are those of
/// `MDB_page` and `MDB_meta` of LMDB 0.9 on 64-bit machines.
enum IndexFile {
  private static let metaByteCount = 152
  private static let magic: UInt32 = 0xBEEF_C0DE

  /// Throws `cut` where the index is shorter than its newer meta page says, unless all it lacks are free pages; an index that is not there,
  /// or empty, passes.
  static func checkLength(in folder: CacheFolder) throws(CacheError) {
    guard let file = try folder.open(CacheFolder.indexName, O_RDONLY), let first = file.status else { return }
    if first.st_size == 0 { return }
    if first.st_size < metaByteCount {
      let name = folder.path(of: CacheFolder.indexName)
      throw .cut(path: name, expectedBytes: metaByteCount, actualBytes: Int(first.st_size))
    }
    guard let pageSize = try meta(file.number, at: 0, folder).map(\.pageSize), pageSize >= 256 else {
      throw .damaged(path: folder.path, reason: "\(CacheFolder.indexName) does not begin as an index does")
    }
    let metas = [try meta(file.number, at: 0, folder), try meta(file.number, at: pageSize, folder)].compactMap { $0 }
    guard let newest = metas.max(by: { $0.transaction < $1.transaction }) else { return }
    // Read the length after the meta pages: another process may just be growing the file.
    let actual = Int(file.status?.st_size ?? first.st_size)
    let (expected, overflow) = (newest.lastPage &+ 1).multipliedReportingOverflow(by: pageSize)
    if metas.count == 2, !overflow, actual < expected, actual >= 2 * pageSize {
      let free = IndexFreePages(file: file.number, pageSize: pageSize)
      if free.contain(actual / pageSize..<newest.lastPage + 1, root: newest.freeRoot) { return }
    }
    guard metas.count == 2, !overflow, actual >= expected else {
      let least = overflow ? .max : max(expected, 2 * pageSize)
      throw .cut(path: folder.path(of: CacheFolder.indexName), expectedBytes: least, actualBytes: actual)
    }
  }

  private struct Meta {
    let pageSize: Int
    /// The root of the tree of free pages.
    let freeRoot: Int
    let lastPage: Int
    let transaction: UInt64
  }

  /// The meta page at an offset; nil where there is none.
  private static func meta(_ file: Int32, at offset: Int, _ folder: CacheFolder) throws(CacheError) -> Meta? {
    var bytes = [UInt8](repeating: 0, count: metaByteCount)
    let count = uninterrupted { pread(file, &bytes, metaByteCount, off_t(offset)) }
    guard count >= 0 else { throw .cannotRead(path: folder.path(of: CacheFolder.indexName), reason: errorSentence()) }
    guard count == metaByteCount else { return nil }
    return bytes.withUnsafeBytes { bytes in
      guard bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self) == magic else { return nil }
      return Meta(
        pageSize: Int(bytes.loadUnaligned(fromByteOffset: 40, as: UInt32.self)),
        freeRoot: Int(truncatingIfNeeded: bytes.loadUnaligned(fromByteOffset: 80, as: UInt64.self)),
        lastPage: Int(truncatingIfNeeded: bytes.loadUnaligned(fromByteOffset: 136, as: UInt64.self)),
        transaction: bytes.loadUnaligned(fromByteOffset: 144, as: UInt64.self)
      )
    }
  }
}
