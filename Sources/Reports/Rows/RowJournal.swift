package import Base

/// A report that grows during the run by a row for each entry.
package protocol ReportJournal: AnyObject {
  /// Called when the run starts; empties an older report. An error is kept for ``flush()``.
  func begin()

  /// Called for each added manifest; its index is the number of those before. See ``ManifestSummary/file``.
  func addManifest(_ path: String, file: String?)

  /// Called for each added variant; numbers start at 1.
  func addVariant(_ variant: RequestVariant)

  /// Names the shard of the next rows, such as `2/5`; nil if they are of a whole job.
  func setShard(_ label: String?)

  /// Writes the end of a shard's rows, read from another report.
  func append(_ end: RowsEnd)

  /// Writes the row of an entry, now or with the next flush; an error is kept for ``flush()``.
  ///
  /// - Parameter standing: whether a failed or blacklisted entry counts in the verdict; ``FailureStanding/counts`` for all others.
  func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding)

  /// Writes all rows so far; throws the first error, now or earlier, and again each time.
  func flush() throws(ReportError)
}

extension ReportJournal {
  package func setShard(_ label: String?) {}
  package func append(_ end: RowsEnd) {}
}

/// A report of rows, written during the run: JSON Lines or CSV. The line feed after the last row is written when the report is
/// complete, so that readers recognise a report of a killed run, or one that a run is still writing. A complete file without rows
/// has only the line feed. After an error, nothing more is written: the file may end with a cut row, but never has a gap.
final class RowJournal<Syntax: RowSyntax>: ReportWriter, ReportJournal {
  /// One value, so that a row takes one exclusive access to its owner.
  private struct Output: ~Copyable {
    var rows = JournalRows<Syntax>(capacity: RowPieces.bytes + 4096)
    var pieces = RowPieces()
    let file: ReportFile

    mutating func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
      guard pieces.error == nil else { return }
      rows.append(result, of: entry, standing: standing)
      if rows.buffer.count >= RowPieces.bytes { writeOut() }
    }

    /// Writes all but the last line feed.
    mutating func writeOut() {
      guard rows.buffer.count > 1 else { return }
      rows.buffer.removeLast(1)
      pieces.write(&rows.buffer) { bytes throws(ReportError) in try file.write(bytes) }
      rows.buffer.append(UInt8(ascii: "\n"))
    }

    /// Writes the last line feed, unless standard output has no rows.
    mutating func end() {
      guard !rows.buffer.isEmpty || file.path != "-" else { return }
      rows.buffer.removeAll()
      rows.buffer.append(UInt8(ascii: "\n"))
      pieces.write(&rows.buffer) { bytes throws(ReportError) in try file.write(bytes) }
    }
  }

  private var output: Output
  private var hasEnd = false

  init(file: ReportFile) {
    output = Output(file: file)
    Syntax.appendHeader(to: &output.rows.buffer)
  }

  var journal: (any ReportJournal)? { self }

  func begin() {
    let file = output.file
    output.pieces.attempt { () throws(ReportError) in try file.empty() }
  }

  func addManifest(_ path: String, file: String?) { output.rows.addManifest(path) }
  func addVariant(_ variant: RequestVariant) { output.rows.addVariant(variant) }
  func setShard(_ label: String?) { output.rows.shard = label }

  // Called through a protocol, it would look up generic metadata for each row: 1,900 instructions more.
  @_specialize(where Syntax == JSONRow)
  @_specialize(where Syntax == CSVRow)
  func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
    output.append(result, of: entry, standing: standing)
  }

  func append(_ end: RowsEnd) {
    guard Syntax.namesEnds, output.pieces.error == nil else { return }
    end.append(to: &output.rows.buffer)
    hasEnd = true
  }

  func flush() throws(ReportError) {
    output.writeOut()
    try output.pieces.check()
  }

  func finish(_ report: FinishedReport) throws(ReportError) {
    if report.job.shard != nil, !hasEnd { append(RowsEnd(report)) }
    try flush()
    output.end()
    try output.pieces.check()
    try output.file.commit()
  }
}

/// One object per entry and line. An older report in the file stays until the run starts. By default the file grows in place, so
/// a killed run leaves its rows; the last one may be cut and has no line feed.
typealias JSONLinesJournal = RowJournal<JSONRow>

extension RowJournal<JSONRow> {
  /// Opens the report at `path` and creates the folders above it; an existing report stays unchanged.
  convenience init(path: String, growsInPlace: Bool = true) throws(ReportError) {
    self.init(file: try ReportFile(path: path, growsInPlace: growsInPlace))
  }
}

/// Writes rows in pieces, and nothing more after an error, so that a file never has a gap.
struct RowPieces {
  /// How many bytes are collected before they are written.
  static let bytes = 65_536

  private(set) var error: ReportError?

  /// Writes the collected rows with `body`, and empties the buffer.
  mutating func write(_ buffer: inout OutputBuffer, _ body: (UnsafeRawBufferPointer) throws(ReportError) -> Void) {
    attempt { () throws(ReportError) in try buffer.withUnsafeBytes(body) }
    buffer.removeAll()
  }

  /// Calls `body` and keeps its error; does nothing after an error.
  mutating func attempt(_ body: () throws(ReportError) -> Void) {
    guard error == nil else { return }
    do throws(ReportError) { try body() } catch { self.error = error }
  }

  func check() throws(ReportError) {
    if let error { throw error }
  }
}

/// Rows of a report, one per entry, that wait to be written. A separate value, so that a row of about twenty pieces takes one
/// exclusive access to its owner instead of twenty.
struct JournalRows<Syntax: RowSyntax>: ~Copyable {
  var buffer: OutputBuffer
  /// Columns with few values, made once.
  private let priorities = FixedColumn<Syntax>(.priority, LoadPriority.allCases.map(\.name))
  private let outcomes = FixedColumn<Syntax>(.outcome, LoadOutcome.allCases.map(\.name))
  private let formats = FixedColumn<Syntax>(.format, ImageFormat.allCases.map(\.name))
  private let transformedFormats = FixedColumn<Syntax>(.transformedFormat, ImageFormat.allCases.map(\.name))
  private let remoteCaches = FixedColumn<Syntax>(.remoteCache, RemoteCacheStatus.allCases.map(\.rawValue))
  private var manifests = FixedColumn<Syntax>(.manifest, [])
  var shard: String? {
    didSet { if shard != oldValue { shards = FixedColumn(.shard, shard.map { [$0] } ?? []) } }
  }
  private var shards = FixedColumn<Syntax>(.shard, [])
  /// Both columns of each variant.
  private var variants: [[UInt8]] = []

  init(capacity: Int) {
    buffer = OutputBuffer(capacity: capacity)
    addVariant(.plain)
  }

  mutating func addManifest(_ path: String) { manifests.add(path) }

  mutating func addVariant(_ variant: RequestVariant) {
    var columns = OutputBuffer(capacity: 64)
    for (column, value) in [(.variant, variant.name), (.edge, variant.edge)] as [(RowColumn, String?)] {
      guard let value else {
        Syntax.skip(column, in: &columns)
        continue
      }
      Syntax.begin(column, in: &columns)
      Syntax.append(text: value, to: &columns)
    }
    variants.append(columns.withUnsafeBytes(Array.init))
  }

  /// Appends the row of an entry, its columns in the order of ``RowColumn``.
  mutating func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding = .counts) {
    let (rare, image) = (result.rare, result.image)
    let failure = rare?.details.failure
    Syntax.begin(.url, in: &buffer)
    Syntax.append(text: entry.url, to: &buffer)
    manifests.append(entry.manifest, to: &buffer)
    append(.line, entry.line)
    priorities.append(Int(entry.priority.rawValue), to: &buffer)
    outcomes.append(Int(result.outcome.rawValue), to: &buffer)
    append(.kind, failure?.kind.name)
    append(.status, UInt64(clamping: failure.map { $0.status ?? 0 } ?? Int(result.status)))
    let isOriginal = !result.isTransformed
    append(.bytes, isOriginal ? result.bytes : 0)
    formats.append(isOriginal ? (image.format?.rawValue).map(Int.init) : nil, to: &buffer)
    append(.width, isOriginal ? UInt64(image.width) : 0)
    append(.height, isOriginal ? UInt64(image.height) : 0)
    append(.attempts, UInt64(result.attempts))
    appendDuration(result.durationNanoseconds)
    remoteCaches.append(result.remoteCache?.number, to: &buffer)
    append(.message, failure?.message)
    // Zero is written if bytes came, since without it all of them count as stored.
    append(.storedBytes, known: result.newBytes.flatMap { $0 > 0 || result.bytes > 0 ? $0 : nil })
    append(.shared, result.isShared)
    variants[entry.variant].withUnsafeBytes { buffer.append($0) }
    append(.finalURL, rare?.details.finalURL)
    append(.contentType, rare?.details.contentType)
    append(.bodyHash, isOriginal ? result.checksum : nil)
    append(.warnings, rare?.details.warnings ?? [])
    append(.transient, failure?.isTransient ?? false)
    append(.known, standing == .known)
    append(isOriginal ? image.metadata : ImageMetadata())
    append(.id, entry.note?.id)
    append(.element, entry.note?.origin?.element)
    append(.attribute, entry.note?.origin?.attribute)
    append(.pages, entry.note?.pages ?? 0)
    if entry.broken.isEmpty { Syntax.skip(.lint, in: &buffer) } else { append(.lint, entry.broken.names) }
    append(isOriginal ? rare?.details.transformed : result.transformed)
    shards.append(shard == nil ? nil : 0, to: &buffer)
    append(.repeated, entry.isRepeated)
    append(.recovered, rare?.details.isRecovered ?? false)
    append(.inGrace, standing == .inGrace)
    append(.warned, standing == .warned)
    Syntax.end(in: &buffer)
  }

  @inline(__always)
  private mutating func append(_ column: RowColumn, _ value: UInt64) { append(column, known: value > 0 ? value : nil) }

  @inline(__always)
  private mutating func append(_ column: RowColumn, known value: UInt64?) {
    guard let value else { return Syntax.skip(column, in: &buffer) }
    Syntax.begin(column, in: &buffer)
    buffer.append(decimal: value)
  }

  @inline(__always)
  private mutating func append(_ column: RowColumn, _ value: String?) {
    guard let value else { return Syntax.skip(column, in: &buffer) }
    Syntax.begin(column, in: &buffer)
    Syntax.append(text: value, to: &buffer)
  }

  /// In milliseconds, to the microsecond.
  @inline(__always)
  private mutating func appendDuration(_ nanoseconds: UInt64) {
    guard nanoseconds > 0 else { return Syntax.skip(.duration, in: &buffer) }
    let microseconds = nanoseconds / 1000
    Syntax.begin(.duration, in: &buffer)
    buffer.append(decimal: microseconds / 1000)
    buffer.append(UInt8(ascii: "."))
    buffer.append(digitsOf: microseconds % 1000, length: 3)
  }

  @inline(__always)
  private mutating func append(_ column: RowColumn, _ isTrue: Bool) {
    guard isTrue else { return Syntax.skip(column, in: &buffer) }
    Syntax.begin(column, in: &buffer)
    buffer.appendLiteral("true")
  }

  @inline(__always)
  private mutating func append(_ metadata: ImageMetadata) {
    append(.profile, metadata.hasProfile)
    append(.orientation, metadata.orientation > 1 ? UInt64(metadata.orientation) : 0)
    append(.gps, metadata.hasPosition)
    append(.dpi, UInt64(metadata.dpi))
  }

  @inline(__always)
  private mutating func append(_ column: RowColumn, _ list: [String]) {
    guard !list.isEmpty else { return Syntax.skip(column, in: &buffer) }
    Syntax.begin(column, in: &buffer)
    Syntax.append(list: list, to: &buffer)
  }

  @inline(__always)
  private mutating func append(_ image: TransformedImage?) {
    append(.transformedBytes, image?.bytes ?? 0)
    transformedFormats.append((image?.format?.rawValue).map(Int.init), to: &buffer)
    append(.transformedWidth, UInt64(image?.width ?? 0))
    append(.transformedHeight, UInt64(image?.height ?? 0))
    append(.transformedHash, image?.checksum)
  }

  @inline(__always)
  private mutating func append(_ column: RowColumn, _ checksum: Checksum?) {
    guard let checksum else { return Syntax.skip(column, in: &buffer) }
    Syntax.begin(column, in: &buffer)
    buffer.appendLiteral(Syntax.quote)
    buffer.append(hexadecimal: checksum.high)
    buffer.append(hexadecimal: checksum.low)
    buffer.appendLiteral(Syntax.quote)
  }
}

extension RemoteCacheStatus {
  fileprivate var number: Int {
    switch self {
    case .hit: 0
    case .miss: 1
    case .unknown: 2
    }
  }
}

/// A column whose values are known before the rows: for each value, the bytes of the whole column, one after another.
private struct FixedColumn<Syntax: RowSyntax> {
  private let column: RowColumn
  private var bytes: [UInt8] = []
  private var ends: [Int] = [0]

  init(_ column: RowColumn, _ values: [String]) {
    self.column = column
    for value in values { add(value) }
  }

  mutating func add(_ value: String) {
    var buffer = OutputBuffer(capacity: 64)
    Syntax.begin(column, in: &buffer)
    Syntax.append(text: value, to: &buffer)
    buffer.withUnsafeBytes { bytes.append(contentsOf: $0) }
    ends.append(bytes.count)
  }

  @inline(__always)
  func append(_ index: Int?, to buffer: inout OutputBuffer) {
    guard let index else { return Syntax.skip(column, in: &buffer) }
    let range = ends[index]..<ends[index + 1]
    bytes.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }
}
