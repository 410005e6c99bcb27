import CXXHash
import CZlib
import Glibc
import HeapModule
package import Base

/// Divides the entries of all lists into the files of shards, each host into one of them.
///
/// Entries are written to a spool first, since the sizes of hosts decide, and sorted into files from there. Memory doesn't grow with
/// their number, only with that of hosts.
package final class ShardDivision {
  /// How large shards are.
  package enum Size: Sendable {
    case shards(Int)
    /// About this many entries each.
    case entries(Int)
  }

  /// Entries that stay together.
  private struct Group {
    /// Host and port; empty for entries that request none.
    var host: String
    var entries = 0
    var good = 0
  }

  package struct Part: Sendable {
    package fileprivate(set) var entries = 0
    /// Entries that are requested: valid, and not filtered out.
    package fileprivate(set) var good = 0
    package fileprivate(set) var hosts = 0
    /// The host with most requested entries.
    package fileprivate(set) var largest = (host: "", entries: 0)
  }

  /// Entries that request nothing are divided into so many groups, small enough to fill up shards.
  private static let restGroups: UInt64 = 256
  /// Compressed at once for all shards: more members of gzip compress worse, and more memory serves nothing.
  private static let bufferedBytes = 64 << 20
  private static let spoolBytes = 1 << 20

  private let rule: Shard.Rule
  private let spool: UnnamedFile
  private var unwritten: [UInt8] = []
  private var groups: [Group] = []
  private var numbers: [UInt64: UInt32] = [:]
  package private(set) var list = ListFingerprint()

  /// Creates a division whose spool is in that folder.
  package init(by rule: Shard.Rule, spoolDirectory: String) throws(ListError) {
    self.rule = rule
    do throws(UnnamedFileError) {
      spool = try UnnamedFile(in: spoolDirectory)
    } catch {
      throw Self.unwritable(spoolDirectory, error.reason)
    }
  }

  private static func unwritable(_ path: String, _ reason: String) -> ListError {
    ListError(manifest: path, message: "cannot write the plan: \(reason)")
  }

  /// Adds the entries of a batch from lists of these names.
  package func add(_ batch: EntryBatch, lists: [String]) throws(ListError) {
    for index in batch.entries.indices {
      let entry = batch.entry(index)
      let name = lists[Int(entry.source)]
      var problem: String?
      if case .invalid(let message) = entry.state { problem = batch.messages[Int(message)] }
      let hash = problem == nil ? entry.withRequestURL { Shard.hash($0) } : Shard.hash(line: entry.line, ofManifest: name)
      list.add(hash)
      guard let line = ShardEntries.line(of: entry, problem: problem) else {
        throw ListError(manifest: name, line: entry.line, message: "the entry is too long for a plan; leave it out with exclude")
      }
      let group = group(of: entry, hash)
      withUnsafeBytes(of: (group, UInt32(line.count))) { unwritten += $0 }
      unwritten += line
    }
    if unwritten.count >= Self.spoolBytes { try flush() }
  }

  private func flush() throws(ListError) {
    do throws(UnnamedFileError) {
      try spool.append(unwritten)
    } catch {
      throw Self.unwritable("spool", error.reason)
    }
    unwritten.removeAll(keepingCapacity: true)
  }

  private func group(of entry: Entry, _ hash: UInt64) -> UInt32 {
    let isGood = entry.state == .good
    let host = isGood && rule == .host ? entry.text[entry.hostRange] : []
    let key: UInt64
    switch rule {
    case .host: key = isGood ? host.withUnsafeBytes { Shard.hash($0) } : hash % Self.restGroups
    // A URL's entries stay together, so that it is requested once; groups of some URLs are small enough.
    case .url: key = hash % 65_536
    }
    let number = numbers[key] ?? UInt32(groups.count)
    if number == groups.count {
      numbers[key] = number
      groups.append(Group(host: String(decoding: host, as: UTF8.self)))
    }
    groups[Int(number)].entries += 1
    if isGood { groups[Int(number)].good += 1 }
    return number
  }

  /// Packs the groups, the largest first, each into the shard with fewest entries, and writes the files `1.tsv.gz` and so on into
  /// `folder`; returns the shards in the order in which they should start.
  ///
  /// - Parameter duration: an estimate for a shard; those that take longest start first.
  package func write(_ size: Size, to folder: String, duration: (Part) -> Double) throws(ListError) -> [Part] {
    try flush()
    let (parts, shards) = pack(size)
    let order = parts.indices.sorted {
      (duration(parts[$1]), parts[$1].entries, $0) < (duration(parts[$0]), parts[$0].entries, $1)
    }
    var places = Array(repeating: 0, count: parts.count)
    for (place, part) in order.enumerated() { places[part] = place }
    try sort(into: folder, count: parts.count) { places[shards[$0]] }
    return order.map { parts[$0] }
  }

  private struct Load: Comparable {
    var entries: Int
    var shard: Int
    static func < (left: Load, right: Load) -> Bool { (left.entries, left.shard) < (right.entries, right.shard) }
  }

  private func pack(_ size: Size) -> (parts: [Part], shards: [Int]) {
    let entries = groups.reduce(0) { $0 + $1.entries }
    let wanted =
      switch size {
      case .shards(let count): count
      case .entries(let count): (entries + count - 1) / count
      }
    let most = rule == .host ? max(groups.count { !$0.host.isEmpty }, 1) : max(entries, 1)
    var parts = Array(repeating: Part(), count: min(max(wanted, 1), most, Shard.maximumCount))
    var shards = Array(repeating: 0, count: groups.count)
    var loads = Heap(parts.indices.map { Load(entries: 0, shard: $0) })
    for index in groups.indices.sorted(by: { (groups[$1].entries, $0) < (groups[$0].entries, $1) }) {
      guard var load = loads.popMin() else { break }
      let group = groups[index]
      shards[index] = load.shard
      load.entries += group.entries
      loads.insert(load)
      parts[load.shard].add(group.host, entries: group.entries, good: group.good)
    }
    return (parts, shards)
  }

  /// Copies the lines of the spool into the files of their shards.
  private func sort(into folder: String, count: Int, place: (Int) -> Int) throws(ListError) {
    var texts = Array(repeating: Array(ShardEntries.header.utf8), count: count)
    var (buffered, isFirst) = (0, true)
    var reader = SpoolReader(descriptor: spool.descriptor)
    while let (group, line) = reader.next() {
      texts[place(Int(group))] += line
      buffered += line.count
      guard buffered >= Self.bufferedBytes else { continue }
      try compress(&texts, into: folder, isFirst: isFirst)
      (buffered, isFirst) = (0, false)
    }
    if reader.hasFailed { throw ListError(manifest: folder, message: "cannot read the plan's spool: \(errorSentence())") }
    try compress(&texts, into: folder, isFirst: isFirst)
  }

  /// Appends the texts to their files as members of gzip (RFC 1952, section 2.2).
  private func compress(_ texts: inout [[UInt8]], into folder: String, isFirst: Bool) throws(ListError) {
    for index in texts.indices where !texts[index].isEmpty {
      let path = "\(folder)/\(index + 1).tsv.gz"
      guard let file = gzopen(path, isFirst ? "wbe" : "abe") else { throw Self.unwritable(path, errorSentence()) }
      let written = gzwrite(file, texts[index], UInt32(texts[index].count))
      // The reason must be read before closing.
      let reason = errorSentence()
      guard gzclose(file) == Z_OK, Int(written) == texts[index].count else { throw Self.unwritable(path, reason) }
      texts[index].removeAll(keepingCapacity: true)
    }
  }
}

extension ShardDivision.Part {
  fileprivate mutating func add(_ host: String, entries: Int, good: Int) {
    self.entries += entries
    self.good += good
    if host.isEmpty { return }
    hosts += 1
    if good > largest.entries { largest = (host, good) }
  }
}

/// Reads the spool from its start: for each line its group and its length, four bytes each, and its text.
private struct SpoolReader {
  private static let pieceBytes = 1 << 20
  private var bytes: [UInt8] = []
  private var start = 0
  private var offset = 0
  private let descriptor: Int32
  private(set) var hasFailed = false

  init(descriptor: Int32) { self.descriptor = descriptor }

  mutating func next() -> (group: UInt32, line: ArraySlice<UInt8>)? {
    guard fill(8) else { return nil }
    let (group, count) = bytes.withUnsafeBytes {
      ($0.loadUnaligned(fromByteOffset: start, as: UInt32.self), $0.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self))
    }
    guard fill(8 + Int(count)) else { return nil }
    let line = bytes[start + 8..<start + 8 + Int(count)]
    start += 8 + Int(count)
    return (group, line)
  }

  /// Whether that many bytes are in memory.
  private mutating func fill(_ count: Int) -> Bool {
    while bytes.count - start < count {
      bytes.removeSubrange(..<start)
      start = 0
      var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
      let got = pread(descriptor, &piece, piece.count, off_t(offset))
      if got < 0, errno == EINTR { continue }
      hasFailed = got < 0
      guard got > 0 else { return false }
      bytes += piece[..<got]
      offset += got
    }
    return true
  }
}
