import CLMDB
import Platform
import Base
import Synchronization

/// Reads the index pages of records ahead of many look-ups, on its own thread, until it is released.
///
/// Keys are hashes, so look-ups touch pages all over the file, one after another. If those aren't in memory, as after a reboot, a
/// look-up waits for each; this thread requests many at once, in file order. It doesn't read bodies.
package final class IndexReadAhead: Sendable {
  /// Reading ahead doesn't help with smaller indexes.
  static let leastByteCount = 16 << 20
  /// The number of pages requested at once before waiting for them: 4 MiB.
  private static let pagesInPiece = 1024
  /// The number of sampled pages that show whether the index is in memory.
  private static let sampleCount = 256

  private final class Stop: Sendable {
    let isSet = Atomic(false)
  }

  private let stop = Stop()

  /// Nil if the index is small, or if the system can't start a thread.
  init?(_ environment: IndexEnvironment) {
    guard environment.indexDiskBytes >= Self.leastByteCount else { return nil }
    do throws(ThreadError) {
      _ = try WorkerThread(name: "read-ahead") { [stop] in Self.run(environment, stop) }
    } catch {
      return nil
    }
  }

  deinit { stop.isSet.store(true, ordering: .relaxed) }

  private static func run(_ environment: IndexEnvironment, _ stop: Stop) {
    guard let file = environment.duplicateOfIndex() else { return }
    // Ignore errors: the look-ups will report them.
    guard
      let pages = try? environment.read({ (transaction, _, _) throws(CacheError) in
        IndexPages(file).leaves(of: "entries", in: transaction)
      }), let last = pages.last, let map = MappedIndex(file, pageCount: Int(last) + 1)
    else { return }
    let sample = stride(from: 0, to: pages.count, by: max(1, pages.count / sampleCount)).map { pages[$0] }
    guard sample.contains(where: { !map.isInMemory($0) }) else { return }
    var start = 0
    while start < pages.count, !stop.isSet.load(ordering: .relaxed) {
      let piece = pages[start..<min(start + pagesInPiece, pages.count)]
      for page in piece { map.request(page) }
      // Limit requests to one piece, so that pages of look-ups don't queue behind all of them.
      if let last = piece.last { IndexPages(file).wait(for: last) }
      start = piece.endIndex
    }
  }
}

extension ImageCache {
  /// Starts reading the index ahead for many look-ups, until the returned object is released. Nil if that wouldn't help.
  package func readAhead() -> IndexReadAhead? { IndexReadAhead(environment) }
}

/// A separate map of the index, used only for advice to the system.
private struct MappedIndex: ~Copyable {
  private let start: UnsafeMutableRawPointer
  private let byteCount: Int

  /// Nil if there is no address space for it.
  init?(_ file: borrowing FileDescriptor, pageCount: Int) {
    byteCount = pageCount * IndexPages.byteCount
    guard let start = mmap(nil, byteCount, PROT_READ, MAP_SHARED, file.number, 0), start != MAP_FAILED else { return nil }
    self.start = start
  }

  deinit { munmap(start, byteCount) }

  func isInMemory(_ page: UInt64) -> Bool {
    system_is_resident(start + Int(page) * IndexPages.byteCount, IndexPages.byteCount) != 0
  }

  func request(_ page: UInt64) { madvise(start + Int(page) * IndexPages.byteCount, IndexPages.byteCount, MADV_WILLNEED) }
}

/// The pages of an LMDB file (data format 1, of LMDB 0.9), whose numbers its API doesn't expose. Unexpected contents are skipped.
///
/// | offset in a page | type | |
/// |---|---|---|
/// | 0 | u64 | its number |
/// | 10 | u16 | flags: 1 branch |
/// | 12 | u16 | end of the offsets of nodes |
/// | 16 | u16 … | offsets of nodes, each a child's number in three parts of 16 bits |
struct IndexPages: ~Copyable {
  static let byteCount = 4096
  private static let headByteCount = 16
  private static let branchFlag: UInt16 = 1
  /// Offsets in a table's record (`MDB_db`): its depth, a u16, and its root, a u64.
  private static let (depthOffset, rootOffset, recordByteCount) = (6, 40, 48)
  private static let maximumDepth = 16
  /// The table of tables.
  private static let mainTable: MDB_dbi = 1

  private let file: Int32
  private let pageCount: UInt64

  /// Reads through a descriptor, which must stay open.
  init(_ file: borrowing FileDescriptor) {
    self.file = file.number
    pageCount = UInt64(clamping: file.status?.st_size ?? 0) / UInt64(Self.byteCount)
  }

  /// The ascending numbers of the pages that hold a table's values, as of `transaction`; empty if unknown.
  func leaves(of table: StaticString, in transaction: Transaction) -> [UInt64] {
    let name = UnsafeRawBufferPointer(start: table.utf8Start, count: table.utf8CodeUnitCount)
    guard let record = try? transaction.value(of: name, in: Self.mainTable), record.count == Self.recordByteCount else {
      return []
    }
    let depth = Int(record.littleEndian(at: Self.depthOffset, as: UInt16.self))
    guard (1...Self.maximumDepth).contains(depth) else { return [] }
    var level = [record.littleEndian(at: Self.rootOffset, as: UInt64.self)].filter { $0 < pageCount }
    for _ in 1..<depth {
      for page in level { system_will_need(file, offset(page), off_t(Self.byteCount)) }
      var children: [UInt64] = []
      for page in level {
        guard appendChildren(of: page, to: &children) else { return [] }
      }
      level = children.sorted()
    }
    return level
  }

  func wait(for page: UInt64) {
    var byte: UInt8 = 0
    _ = uninterrupted { pread(file, &byte, 1, offset(page)) }
  }

  private func offset(_ page: UInt64) -> off_t { off_t(page) * off_t(Self.byteCount) }

  private func appendChildren(of page: UInt64, to children: inout [UInt64]) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: Self.byteCount, alignment: 8) { buffer in
      guard readAll(file, at: page &* UInt64(Self.byteCount), into: buffer) == buffer.count else { return false }
      let bytes = UnsafeRawBufferPointer(buffer)
      let end = Int(bytes.littleEndian(at: 12, as: UInt16.self))
      guard bytes.littleEndian(at: 0, as: UInt64.self) == page,
        bytes.littleEndian(at: 10, as: UInt16.self) & Self.branchFlag != 0,
        (Self.headByteCount...Self.byteCount).contains(end)
      else { return false }
      for index in stride(from: Self.headByteCount, to: end, by: 2) {
        let node = Int(bytes.littleEndian(at: index, as: UInt16.self))
        guard node >= end, node + 8 <= Self.byteCount else { return false }
        let parts = (0..<3).map { UInt64(bytes.littleEndian(at: node + 2 * $0, as: UInt16.self)) }
        let child = parts[0] | parts[1] << 16 | parts[2] << 32
        guard child < pageCount else { return false }
        children.append(child)
      }
      return true
    }
  }
}
