import ImagePrimitives

/// Rows of a JSON Lines report that are waiting to be written.
///
/// A value of its own, so that a row of some twenty pieces takes one exclusive access to its owner instead of twenty.
struct JournalRows: ~Copyable {
  var buffer: OutputBuffer
  /// The columns of few values, made once: `,"priority":"high"`.
  private let priorities = FixedColumn("priority", Priority.allCases.map(\.name))
  private let outcomes = FixedColumn("outcome", Outcome.allCases.map(\.name))
  private let formats = FixedColumn("format", ImageFormat.allCases.map(\.name))
  private var manifests = FixedColumn("manifest", [])
  private let remoteCaches = FixedColumn("remote_cache", RemoteCacheStatus.allCases.map(\.rawValue))
  /// Both columns of each variant; the plain one has none.
  private var variants: [[UInt8]] = [[]]

  init(capacity: Int) { buffer = OutputBuffer(capacity: capacity) }

  mutating func addManifest(_ path: String) { manifests.add(path) }

  mutating func addVariant(_ variant: ReportedVariant) {
    var columns = OutputBuffer(capacity: 64)
    for (name, value) in [("variant", variant.name), ("edge", variant.edge)] {
      guard let value else { continue }
      columns.append(",\"\(name)\":")
      columns.appendJSON(value)
    }
    variants.append(columns.withUnsafeBytes(Array.init))
  }

  /// Appends the row of an entry: its columns in a fixed order, each only where it is known.
  mutating func append(_ result: EntryResult, of entry: ReportedEntry) {
    let details = result.details
    buffer.appendLiteral(#"{"url":"#)
    buffer.appendJSON(entry.url)
    manifests.append(entry.manifest, to: &buffer)
    append(#","line":"#, entry.line)
    priorities.append(Int(entry.priority.rawValue), to: &buffer)
    outcomes.append(Int(result.outcome.rawValue), to: &buffer)
    if let failure = details?.failure { appendReason(failure) }
    append(#","bytes":"#, result.bytes)
    if let format = result.format { formats.append(Int(format.rawValue), to: &buffer) }
    append(#","width":"#, UInt64(result.width))
    append(#","height":"#, UInt64(result.height))
    append(#","attempts":"#, UInt64(result.attempts))
    if result.durationNanoseconds > 0 { appendMilliseconds(result.durationNanoseconds) }
    if let status = result.remoteCache { remoteCaches.append(status.number, to: &buffer) }
    if let failure = details?.failure { append(#","message":"#, failure.message) }
    if let stored = result.newBytes { append(#","stored_bytes":"#, stored) }
    if result.isShared { buffer.appendLiteral(#","shared":true"#) }
    if entry.variant > 0 { variants[entry.variant].withUnsafeBytes { buffer.append($0) } }
    if let details { appendAnswer(details) }
    if let checksum = result.checksum { appendHash(checksum) }
    if let warnings = details?.warnings, !warnings.isEmpty { appendWarnings(warnings) }
    buffer.appendLiteral("}\n")
  }

  /// Zero stands for "not known".
  @inline(__always)
  private mutating func append(_ name: StaticString, _ value: UInt64) {
    guard value > 0 else { return }
    buffer.appendLiteral(name)
    buffer.append(decimal: value)
  }

  private mutating func append(_ name: StaticString, _ value: String) {
    buffer.appendLiteral(name)
    buffer.appendJSON(value)
  }

  private mutating func appendReason(_ failure: Failure) {
    append(#","kind":"#, failure.kind.name)
    if let status = failure.status { append(#","status":"#, UInt64(clamping: status)) }
  }

  /// To the microsecond.
  private mutating func appendMilliseconds(_ nanoseconds: UInt64) {
    let microseconds = nanoseconds / 1000
    buffer.appendLiteral(#","duration_ms":"#)
    buffer.append(decimal: microseconds / 1000)
    buffer.append(UInt8(ascii: "."))
    buffer.append(digitsOf: microseconds % 1000, length: 3)
  }

  private mutating func appendAnswer(_ details: EntryResult.Details) {
    if let finalURL = details.finalURL { append(#","final_url":"#, finalURL) }
    if let contentType = details.contentType { append(#","content_type":"#, contentType) }
  }

  private mutating func appendHash(_ checksum: Checksum) {
    buffer.appendLiteral(#","body_hash":""#)
    buffer.append(hexadecimal: checksum.high)
    buffer.append(hexadecimal: checksum.low)
    buffer.append(UInt8(ascii: "\""))
  }

  private mutating func appendWarnings(_ warnings: [String]) {
    buffer.appendLiteral(#","warnings":["#)
    for (index, warning) in warnings.enumerated() {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      buffer.appendJSON(warning)
    }
    buffer.append(UInt8(ascii: "]"))
  }
}

extension RemoteCacheStatus {
  /// Its place among all.
  fileprivate var number: Int {
    switch self {
    case .hit: 0
    case .miss: 1
    case .unknown: 2
    }
  }
}

/// A column whose values are known before the rows: each is kept as the bytes of its whole column, one after another.
private struct FixedColumn {
  private let name: String
  private var bytes: [UInt8] = []
  private var ends: [Int] = [0]

  init(_ name: String, _ values: [String]) {
    self.name = name
    for value in values { add(value) }
  }

  mutating func add(_ value: String) {
    var buffer = OutputBuffer(capacity: 64)
    buffer.append(",\"\(name)\":")
    buffer.appendJSON(value)
    buffer.withUnsafeBytes { bytes.append(contentsOf: $0) }
    ends.append(bytes.count)
  }

  @inline(__always)
  func append(_ index: Int, to buffer: inout OutputBuffer) {
    let range = ends[index]..<ends[index + 1]
    bytes.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }
}
