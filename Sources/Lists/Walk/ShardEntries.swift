import Glibc
package import Base

/// Where the entries of a run come from.
package protocol EntrySource: AnyObject {
  /// The names of lists in reports; see ``ListReader/listNames``.
  var listNames: [String] { get }
  /// See ``ListReader/nextAvailable(_:maximum:)``.
  func nextAvailable(_ batch: inout EntryBatch, maximum: Int) throws(ListError) -> ListReader.Status
  var waitDescriptor: Int32? { get }
  var expectedEntries: Int? { get }
  var othersHaveEntries: Bool { get }
  var listFingerprint: ListFingerprint? { get }
  var warnings: [String] { get }
  var notes: [String] { get }
  func location(ofManifest index: Int) -> ListLocation
}

extension EntrySource {
  /// Appends at most `maximum` entries, blocking while a pipe is empty; returns false at the end, with nothing appended. Throws
  /// as ``nextAvailable(_:maximum:)`` does.
  package func next(_ batch: inout EntryBatch, maximum: Int) throws(ListError) -> Bool {
    let before = batch.entries.count
    while true {
      let status = try nextAvailable(&batch, maximum: maximum)
      if batch.entries.count > before { return true }
      switch status {
      case .more: break
      case .end: return false
      case .waiting: wait()
      }
    }
  }

  private func wait() {
    guard let descriptor = waitDescriptor else { return }
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    // After an interruption the caller just calls again.
    _ = Glibc.poll(&poll, 1, -1)
  }
}

extension ListReader: EntrySource {}

/// A shard's entries in a file of their own, which a plan has written: TSV, compressed with gzip, in the order of requests.
///
/// Its columns are the URL as written, the index of the list, the line, the priority, the state (empty, `filtered` or `invalid`),
/// the number of pages, the reason why the entry is invalid, and all else that the list says, in hexadecimal digits.
package final class ShardEntries: EntrySource {
  static let header = "url\tlist\tline\tpriority\tstate\tpages\tproblem\tnote\n"

  package let listNames: [String]
  private let files: [String?]
  private let name: String
  private let buffer: InputBuffer
  private let lines: LineReader
  private let normalizer = URLNormalizer()
  private var hasHeader = false
  /// The number of entries.
  package let expectedEntries: Int?
  package let othersHaveEntries: Bool
  package let listFingerprint: ListFingerprint?

  /// Opens the file at `path`.
  ///
  /// - Parameters:
  ///   - lists: the names of all lists, and the absolute paths of those that are files.
  ///   - count: the number of entries in the file.
  ///   - list: the fingerprint of all shards' entries.
  package init(path: String, lists: [(name: String, file: String?)], count: Int, list: ListFingerprint) throws(ListError) {
    (name, listNames, files) = (path, lists.map(\.name), lists.map(\.file))
    (expectedEntries, othersHaveEntries, listFingerprint) = (count, list.entries > count, list)
    let input = try InputError.naming(path) { () throws(InputError) in try InputDescriptor(path: path) }
    buffer = InputBuffer(InputStream(input))
    lines = LineReader(buffer)
  }

  package var waitDescriptor: Int32? { nil }
  package var warnings: [String] { [] }
  package var notes: [String] { [] }

  package func location(ofManifest index: Int) -> ListLocation { files[index].map { .file($0) } ?? .elsewhere }

  package func nextAvailable(_ batch: inout EntryBatch, maximum: Int) throws(ListError) -> ListReader.Status {
    let end = batch.entries.count + maximum
    while batch.entries.count < end {
      switch lines.next() {
      case .line(let line) where !hasHeader:
        guard line.bytes.elementsEqual(Self.header.utf8.dropLast()) else { throw broken(line.number) }
        hasHeader = true
      case .line(let line): guard !line.isTooLong, append(line.bytes, to: &batch) else { throw broken(line.number) }
      case .wouldBlock: break
      case .end:
        if let failure = buffer.failure { throw failure.error(in: name) }
        return .end
      }
    }
    return .more
  }

  private func broken(_ line: UInt64) -> ListError {
    ListError(manifest: name, line: line, message: "isn't an entry of a plan; plan again")
  }

  /// Appends the entry of a line; false if it isn't one.
  private func append(_ line: UnsafeRawBufferPointer, to batch: inout EntryBatch) -> Bool {
    let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
    guard fields.count == 8, let list = Self.number(fields[1]), list < listNames.count, let number = Self.number(fields[2]),
      let priority = LoadPriority(name: String(decoding: fields[3], as: UTF8.self)), let pages = Self.number(fields[5])
    else { return false }
    let url = UnsafeRawBufferPointer(rebasing: fields[0])
    var entry = BatchEntry(source: UInt32(list), line: number, priority: priority, parts: .empty, requestRange: 0..<0)
    let start = batch.bytes.count
    if fields[4].elementsEqual("invalid".utf8) {
      entry.state = .invalid(message: UInt32(batch.messages.count))
      batch.messages.append(String(decoding: fields[6], as: UTF8.self))
      entry.writtenRange = start..<start + url.count
      batch.bytes.append(contentsOf: url)
    } else {
      if fields[4].elementsEqual("filtered".utf8) { entry.state = .filtered } else if !fields[4].isEmpty { return false }
      do throws(InvalidURL) {
        entry.parts = try normalizer.normalize(url, relativeTo: nil, into: &batch.bytes)
      } catch {
        return false
      }
      entry.requestRange = start..<batch.bytes.count
      entry.writtenRange = entry.requestRange
      if !batch.bytes[entry.requestRange].elementsEqual(url) {
        entry.writtenRange = batch.bytes.count..<batch.bytes.count + url.count
        batch.bytes.append(contentsOf: url)
      }
    }
    var note: EntryNote?
    if !fields[7].isEmpty {
      guard let bytes = Base.bytes(hexadecimal: UnsafeRawBufferPointer(rebasing: fields[7])) else { return false }
      note = bytes.withUnsafeBytes { RowTrailer(decoding: $0[...]).note }
    }
    if pages > 0 { note = (note ?? EntryNote()).used(by: pages) }
    batch.append(entry, owner: note)
    return true
  }

  private static func number(_ text: Slice<UnsafeRawBufferPointer>) -> UInt64? {
    text.count > 18 ? nil : UInt64(String(decoding: text, as: UTF8.self))
  }

  /// The line of an entry; nil if it is longer than a reader takes.
  static func line(of entry: Entry, problem: String?) -> [UInt8]? {
    var state = ""
    switch entry.state {
    case .good: break
    case .filtered: state = "filtered"
    case .invalid: state = "invalid"
    }
    var url = entry.writtenURL
    // Tabs and line feeds, which URLs ignore, divide fields.
    if entry.state == .good, url.contains(where: { $0 < 0x20 }) { url = entry.requestURL }
    var text = url.map { $0 < 0x20 ? UInt8(ascii: " ") : $0 }
    let note = entry.note.map { hexadecimal(RowTrailer(note: $0).encoded) } ?? ""
    let shown = (problem ?? "").map { ($0.asciiValue ?? 0x20) < 0x20 ? " " : $0 }
    text += "\t\(entry.source)\t\(entry.line)\t\(entry.priority.name)\t\(state)\t\(entry.note?.pages ?? 0)\t".utf8
    text += "\(String(shown))\t\(note)\n".utf8
    return text.count <= InputBuffer.maximumRowBytes ? text : nil
  }
}
