import CLMDB
import Platform
import Base
import Synchronization

/// The pages of an LMDB data file (data format 1, of LMDB 0.9 on 64-bit machines), whose numbers its API doesn't expose.
///
/// They are read without mapping the file, which would be fatal if it is truncated. Unexpected contents count as unreadable.
///
/// | offset in a page | type | |
/// |---|---|---|
/// | 0 | u64 | its number |
/// | 10 | u16 | flags: 1 branch, 2 leaf, 4 pages of one long value |
/// | 12 | u16 | end of the offsets of nodes; for a long value, a u32: its number of pages |
/// | 16 | u16 … | offsets of nodes |
///
/// | offset in a node | type | |
/// |---|---|---|
/// | 0, 2, 4 | u16 each | in a branch, the number of a page; in a leaf, the size of the value, a u32, and flags: 1 a long value |
/// | 6 | u16 | the length of the key, which follows; then the value, or the number of its first page |
struct IndexPages {
  private static let (branch, leaf, ownPages): (UInt16, UInt16, UInt16) = (1, 2, 4)
  private static let longValue: UInt16 = 1
  private static let (headByteCount, nodeHeadByteCount) = (16, 8)
  /// Deeper than any tree, to detect loops.
  private static let maximumDepth = 16
  /// Offsets in a table's record (`MDB_db`): its depth, a u16, and its root, a u64.
  private static let (depthOffset, rootOffset, recordByteCount) = (6, 40, 48)
  /// The table of tables.
  static let mainTable: MDB_dbi = 1
  /// LMDB takes the system's page size.
  static let usualByteCount = 4096

  let file: Int32
  var pageSize = usualByteCount

  private struct Page {
    let bytes: [UInt8]
    let isBranch: Bool
    let nodes: [Int]

    func number<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type) -> Int {
      Int(truncatingIfNeeded: bytes.withUnsafeBytes { $0.littleEndian(at: offset, as: T.self) })
    }

    func parts(of node: Int) -> (Int, Int, Int) {
      (number(at: node, as: UInt16.self), number(at: node + 2, as: UInt16.self), number(at: node + 4, as: UInt16.self))
    }

    var children: [Int] {
      nodes.map { node in
        let (low, middle, high) = parts(of: node)
        return low | middle << 16 | high << 32
      }
    }
  }

  /// A page of a tree; nil if it can't be read.
  private func page(_ number: Int) -> Page? {
    guard let bytes = read(pageSize, at: number) else { return nil }
    return bytes.withUnsafeBytes { raw in
      let flags = raw.littleEndian(at: 10, as: UInt16.self)
      let end = Int(raw.littleEndian(at: 12, as: UInt16.self))
      guard flags & (Self.branch | Self.leaf) != 0, (Self.headByteCount...pageSize).contains(end) else { return nil }
      let nodes = stride(from: Self.headByteCount, to: end - 1, by: 2).map { Int(raw.littleEndian(at: $0, as: UInt16.self)) }
      guard nodes.allSatisfy({ $0 >= end && $0 + Self.nodeHeadByteCount <= pageSize }) else { return nil }
      return Page(bytes: bytes, isBranch: flags & Self.branch != 0, nodes: nodes)
    }
  }

  /// The bytes of one or more consecutive pages; nil if the file ends before them.
  private func read(_ count: Int, at page: Int, from start: Int = 0) -> [UInt8]? {
    let (offset, overflow) = page.multipliedReportingOverflow(by: pageSize)
    guard !overflow, page > 0, offset < .max - start, count <= 1 << 30 else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    let got = bytes.withUnsafeMutableBytes { readAll(file, at: UInt64(offset + start), into: $0) }
    return got == count ? bytes : nil
  }

  // MARK: Tables

  /// The ascending numbers of the pages that hold a table's values, as of `transaction`; empty if unknown.
  func leaves(of table: StaticString, in transaction: Transaction) throws(CacheError) -> [Int] {
    guard let record = try transaction.value(of: table, in: Self.mainTable), record.count == Self.recordByteCount else {
      return []
    }
    var status = stat()
    guard fstat(file, &status) == 0 else { return [] }
    let pageCount = Int(status.st_size) / pageSize
    let depth = Int(record.littleEndian(at: Self.depthOffset, as: UInt16.self))
    guard (1...Self.maximumDepth).contains(depth) else { return [] }
    var level = [Int(truncatingIfNeeded: record.littleEndian(at: Self.rootOffset, as: UInt64.self))]
    for _ in 1..<depth {
      for page in level where page < pageCount { system_will_need(file, off_t(page * pageSize), off_t(pageSize)) }
      var children: [Int] = []
      for number in level {
        guard let page = page(number), page.isBranch else { return [] }
        children += page.children
      }
      level = children.sorted()
    }
    return level.allSatisfy((0..<pageCount).contains) ? level : []
  }

  // MARK: Free pages

  /// Whether all pages of `range` are free according to the tree at `root`; false if the tree can't be read.
  func areFree(_ range: Range<Int>, root: Int) -> Bool {
    var missing = Set(range)
    return removeFree(below: root, depth: 0, from: &missing) && missing.isEmpty
  }

  private func removeFree(below number: Int, depth: Int, from missing: inout Set<Int>) -> Bool {
    guard depth < Self.maximumDepth, let page = page(number) else { return false }
    if page.isBranch { return page.children.allSatisfy { removeFree(below: $0, depth: depth + 1, from: &missing) } }
    return page.nodes.allSatisfy { node in
      let (low, high, flags) = page.parts(of: node)
      let byteCount = low | high << 16
      let start = node + Self.nodeHeadByteCount + page.number(at: node + 6, as: UInt16.self)
      if UInt16(flags) & Self.longValue == 0 {
        return start + byteCount <= pageSize && Self.remove(page.bytes[start..<start + byteCount], from: &missing)
      }
      guard start + 8 <= pageSize else { return false }
      let list = read(byteCount, at: page.number(at: start, as: UInt64.self), from: Self.headByteCount)
      return list.map { Self.remove($0[...], from: &missing) } ?? false
    }
  }

  /// Removes the pages of a list (`MDB_ID2L`): a count, followed by page numbers. False if it isn't one.
  private static func remove(_ list: ArraySlice<UInt8>, from missing: inout Set<Int>) -> Bool {
    list.withUnsafeBytes { list in
      guard list.count >= 8 else { return false }
      let count = list.littleEndian(at: 0, as: UInt64.self)
      guard count <= UInt64(list.count / 8 - 1) else { return false }
      for index in 0..<Int(count) {
        missing.remove(Int(truncatingIfNeeded: list.littleEndian(at: 8 + 8 * index, as: UInt64.self)))
      }
      return true
    }
  }

  // MARK: Long values and the map

  /// The start of the map that a short value is in; nil if its page isn't a leaf.
  static func startOfMap(with value: UnsafeRawBufferPointer, pageSize: Int) -> UnsafeMutableRawPointer? {
    guard let address = value.baseAddress, pageSize > 0 else { return nil }
    let page = UnsafeRawBufferPointer(start: address - Int(bitPattern: address) % pageSize, count: headByteCount)
    guard page.littleEndian(at: 10, as: UInt16.self) == leaf, let start = page.baseAddress else { return nil }
    return UnsafeMutableRawPointer(mutating: start - Int(page.littleEndian(at: 0, as: UInt64.self)) * pageSize)
  }

  /// The bytes of the file that a mapped long value takes beyond its first page, whose head LMDB reads when it removes the value. nil if
  /// the value has no such pages.
  static func restOfBody(_ value: UnsafeRawBufferPointer, pageSize: Int) -> Range<Int>? {
    guard let start = value.baseAddress, pageSize > 0, value.count > pageSize else { return nil }
    let head = UnsafeRawBufferPointer(start: start - headByteCount, count: headByteCount)
    guard Int(bitPattern: head.baseAddress) % pageSize == 0, head.littleEndian(at: 10, as: UInt16.self) == ownPages else {
      return nil
    }
    let (pages, page) = (Int(head.littleEndian(at: 12, as: UInt32.self)), head.littleEndian(at: 0, as: UInt64.self))
    guard pages > 1, (value.count + headByteCount + pageSize - 1) / pageSize == pages, page < UInt64(Int.max / pageSize - pages)
    else { return nil }
    return (Int(page) + 1) * pageSize..<(Int(page) + pages) * pageSize
  }
}

/// Reads the index pages of records ahead of many look-ups, on its own thread, until it is released. Keys are hashes, so look-ups
/// touch pages all over the file, one after another. If those aren't in memory, as after a reboot, a look-up waits for each; this
/// thread requests many at once, in file order. It doesn't read bodies.
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
    guard environment.indexDiskBytes >= Self.leastByteCount,
      (try? WorkerThread(name: "read-ahead", body: { [stop] in Self.run(environment, stop) })) != nil
    else { return nil }
  }

  deinit { stop.isSet.store(true, ordering: .relaxed) }

  private static func run(_ environment: IndexEnvironment, _ stop: Stop) {
    guard let file = environment.duplicateOfIndex() else { return }
    // Ignore errors: the look-ups will report them.
    guard
      let pages = try? environment.read({ (transaction) throws(CacheError) in
        try IndexPages(file: file.number).leaves(of: "entries", in: transaction)
      })
    else { return }
    let pageSize = IndexPages.usualByteCount
    let sample = stride(from: 0, to: pages.count, by: max(1, pages.count / sampleCount)).map { pages[$0] }
    guard sample.contains(where: { system_is_resident(file.number, off_t($0 * pageSize), pageSize) == 0 }) else { return }
    var start = 0
    while start < pages.count, !stop.isSet.load(ordering: .relaxed) {
      let piece = pages[start..<min(start + pagesInPiece, pages.count)]
      for page in piece { system_will_need(file.number, off_t(page * pageSize), off_t(pageSize)) }
      // Limit requests to one piece, so that pages of look-ups don't queue behind all of them.
      if let last = piece.last { Self.wait(for: last, file) }
      start = piece.endIndex
    }
  }

  private static func wait(for page: Int, _ file: borrowing FileDescriptor) {
    var byte: UInt8 = 0
    _ = uninterrupted { pread(file.number, &byte, 1, off_t(page * IndexPages.usualByteCount)) }
  }
}

extension ImageCache {
  /// Starts reading the index ahead for many look-ups, until the returned object is released. Nil if that wouldn't help.
  package func readAhead() -> IndexReadAhead? { IndexReadAhead(environment) }
}
