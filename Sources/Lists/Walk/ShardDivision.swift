import CXXHash
import CZlib
import Glibc
import HeapModule
package import Base

/// Divides the entries of all lists into the files of shards, each host into one of them.
///
/// Entries are written to a spool first, since the sizes of hosts decide, and sorted into files from there. Memory doesn't grow
/// with their number, only with that of hosts.
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

  private let rule: Shard.Rule
  /// For each entry its group, the length of its line, four bytes each, and the line.
  private let spool: SpoolFile
  private var groups: [Group] = []
  private var numbers: [UInt64: UInt32] = [:]
  package private(set) var list = ListFingerprint()

  package init(by rule: Shard.Rule, spoolDirectory: String) throws(ListError) {
    self.rule = rule
    do throws(UnnamedFileError) {
      spool = SpoolFile(try UnnamedFile(in: spoolDirectory))
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
      try InputError.naming("the plan") { () throws(InputError) in
        try spool.append(group)
        try spool.append(UInt32(line.count))
        try line.withRawBytes { line throws(InputError) in try spool.append(line) }
      }
    }
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
    try InputError.naming("the plan") { () throws(InputError) in try spool.flush() }
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
    let window = TextWindow(order: .fifo)
    var offset: UInt64 = 0
    while offset < spool.count {
      let (group, line) = try InputError.naming("the plan") { () throws(InputError) in try spooledLine(at: offset, window) }
      offset += UInt64(8 + line.count)
      texts[place(Int(group))] += line
      buffered += line.count
      guard buffered >= Self.bufferedBytes else { continue }
      try compress(&texts, into: folder, isFirst: isFirst)
      (buffered, isFirst) = (0, false)
    }
    try compress(&texts, into: folder, isFirst: isFirst)
  }

  private func spooledLine(at offset: UInt64, _ window: TextWindow) throws(InputError) -> (UInt32, UnsafeRawBufferPointer) {
    if let header = try window.bytes(at: offset, length: 8, of: spool) {
      let (group, count) = (header.loadUnaligned(as: UInt32.self), header.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
      if let line = try window.bytes(at: offset + 8, length: Int(count), of: spool) { return (group, line) }
    }
    throw InputError("the temporary file of the list is truncated")
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
