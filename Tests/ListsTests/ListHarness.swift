import Base
import Foundation
import Lists
import TestSupport

/// An entry with its texts, for comparison.
struct ReadEntry: Equatable, CustomStringConvertible {
  var url: String
  var written: String
  var manifest: String
  var line: UInt64
  var priority: LoadPriority
  var isFiltered: Bool
  var problem: String?
  var note: ReadNote?

  var description: String { "\(manifest):\(line) \(written) \(priority.name) \(problem ?? "")" }
}

/// What an entry's list says besides its URL.
struct ReadNote: Equatable {
  var id: String?
  var origin: PageOrigin?
  var pages: UInt64 = 0
  var expectation: ImageExpectation?
  var claims: [ImageClaims] = []
  var modified: Timestamp?
}

extension ReadNote {
  init(_ note: EntryNote) {
    self.init(
      id: note.id,
      origin: note.origin,
      pages: note.pages,
      expectation: note.expectation,
      claims: note.claims,
      modified: note.modified
    )
  }
}

/// The entries read before the end or an error.
struct ReadResult {
  var entries: [ReadEntry] = []
  var failure: ListError?
  var warnings: [String] = []
  var fingerprint: ListFingerprint?

  var urls: [String] { entries.map(\.url) }
  var lines: [UInt64] { entries.map(\.line) }
  var problems: [String?] { entries.map(\.problem) }
}

extension EntryBatch {
  func entries(of reader: ListReader) -> [ReadEntry] {
    entries.enumerated().map { index, entry in
      var problem: String?
      if case .invalid(let message) = entry.state { problem = messages[Int(message)] }
      return ReadEntry(
        url: String(decoding: bytes[entry.requestRange], as: UTF8.self),
        written: String(decoding: bytes[entry.writtenRange], as: UTF8.self),
        manifest: reader.listNames[Int(entry.source)],
        line: entry.line,
        priority: entry.priority,
        isFiltered: entry.state == .filtered,
        problem: problem,
        note: note(index).map { ReadNote($0) }
      )
    }
  }
}

/// Reads all entries, a few at a time.
func readAll(
  _ manifests: [URLList],
  order: EntryOrder = .fifo,
  standardInput: Int32 = 0,
  maximum: Int = 3,
  fetcher: FakeFetcher? = nil,
  shard: Shard? = nil
) throws -> ReadResult {
  let directory = TemporaryDirectory()
  let reader = try ListReader(
    manifests,
    order: order,
    spoolDirectory: directory.path,
    standardInput: standardInput,
    fetcher: fetcher,
    shard: shard
  )
  var result = ReadResult()
  var batch = EntryBatch()
  do throws(ListError) {
    while try reader.next(&batch, maximum: maximum) {
      precondition(batch.entries.count <= maximum)
      result.entries += batch.entries(of: reader)
      batch.removeAll()
    }
  } catch {
    result.failure = error
  }
  precondition(batch.entries.isEmpty)
  result.warnings = reader.warnings
  result.fingerprint = reader.listFingerprint
  precondition(reader.counts.reduce(0) { $0 + $1.read } == result.entries.count)
  return result
}

/// Reads all entries of a pipe into which `bytes` come one by one, each only when reading waits for it.
func readByteByByte(_ bytes: [UInt8], order: EntryOrder = .fifo, format: URLList.Format = .auto) throws -> [ReadEntry] {
  let (directory, pipe) = (TemporaryDirectory(), TestPipe())
  var list = URLList(.standardInput, name: "-")
  list.format = format
  let reader = try ListReader([list], order: order, spoolDirectory: directory.path, standardInput: pipe.readEnd)
  var batch = EntryBatch()
  for byte in bytes {
    pipe.write([byte])
    let status = try untilStill(reader, &batch)
    precondition(status == .waiting)
  }
  pipe.finish()
  // A process that another test is starting may hold the other end for a moment, so wait for the end.
  while try reader.next(&batch, maximum: 10) {}
  return batch.entries(of: reader)
}

/// Reads until reading would block.
func untilStill(_ reader: ListReader, _ batch: inout EntryBatch) throws -> ListReader.Status {
  while true {
    let status = try reader.nextAvailable(&batch, maximum: 2)
    if status != .more { return status }
  }
}

extension TemporaryDirectory {
  /// A manifest over a new file with that text.
  func manifest(_ text: String, name: String = "list.txt") -> URLList {
    URLList(.file(write(text, to: name)), name: name)
  }

  /// A manifest over a new file with these bytes.
  func manifest(bytes: [UInt8], name: String) -> URLList {
    URLList(.file(write(bytes, to: name)), name: name)
  }

  /// What a new file with that text gives when it is read as a list.
  func read(
    _ text: String,
    name: String,
    order: EntryOrder = .fifo,
    set: (inout URLList) throws -> Void = { _ in }
  ) throws -> ReadResult {
    var list = manifest(text, name: name)
    try set(&list)
    return try readAll([list], order: order)
  }
}

/// The bytes as compressed by gzip(1).
func gzip(_ bytes: [UInt8]) throws -> [UInt8] {
  let directory = TemporaryDirectory()
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = ["gzip", "--no-name", directory.write(bytes, to: "plain")]
  try process.run()
  process.waitUntilExit()
  return readFile(directory.file("plain.gz"))!
}

func gzip(_ text: String) throws -> [UInt8] { try gzip(Array(text.utf8)) }

/// A pipe; its ends are closed by `deinit`.
final class TestPipe {
  let readEnd: Int32
  private var writeEnd: Int32?

  init() {
    // A named one, since the child process of another test can't inherit its ends and keep them open.
    let directory = TemporaryDirectory()
    precondition(mkfifo(directory.file("pipe"), 0o600) == 0)
    readEnd = open(directory.file("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    writeEnd = open(directory.file("pipe"), O_WRONLY | O_CLOEXEC)
    precondition(fcntl(readEnd, F_SETFL, 0) == 0)
  }

  /// Creates a pipe with all of `bytes`, which must fit in it, and closes its write end.
  convenience init(holding bytes: [UInt8]) {
    self.init()
    write(bytes)
    finish()
  }

  func write(_ bytes: [UInt8]) {
    precondition(Glibc.write(writeEnd!, bytes, bytes.count) == bytes.count)
  }

  func write(_ text: String) { write(Array(text.utf8)) }

  func finish() {
    if let writeEnd { close(writeEnd) }
    writeEnd = nil
  }

  deinit {
    finish()
    close(readEnd)
  }
}

/// Reads the rest of a list, which must take less than so much memory, and returns the number of entries.
///
/// For tests in their own process, since the memory of other tests would count, too.
func countEntries(of reader: ListReader, growth kilobytes: Int, _ visit: (BatchEntry) -> Void = { _ in }) throws -> Int {
  let before = anonymousKilobytes()
  var (batch, count, peak) = (EntryBatch(), 0, 0)
  while try reader.next(&batch, maximum: 4096) {
    batch.entries.forEach(visit)
    count += batch.entries.count
    batch.removeAll()
    peak = max(peak, anonymousKilobytes() - before)
  }
  precondition(peak < kilobytes, "\(peak) KiB")
  return count
}

/// Memory of this process that isn't backed by files.
private func anonymousKilobytes() -> Int {
  let status = String(decoding: readFile("/proc/self/status")!, as: UTF8.self)
  return Int(status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }!.split(separator: " ").dropLast().last!)!
}
