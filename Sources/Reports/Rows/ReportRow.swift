import Base

/// A row of a JSON Lines report, valid for the lifetime of its line.
struct ReportRow {
  let value: JSONValue

  func read<Value: JSONCodable>(_ column: RowColumn) throws(JSONProblem) -> Value? { try read(column.name) }

  func read<Value: JSONCodable>(_ name: StaticString) throws(JSONProblem) -> Value? {
    guard let json = try value.value(name) else { return nil }
    return try Value(json: json)
  }

  func url() throws(JSONProblem) -> UnsafeRawBufferPointer { try value.required(RowColumn.url.name).bytes() }

  /// Empty if the row doesn't have it.
  func manifest() throws(JSONProblem) -> UnsafeRawBufferPointer {
    try value.value(RowColumn.manifest.name)?.bytes() ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }

  func line() throws(JSONProblem) -> UInt64 { try read(.line) ?? 0 }
  func priority() throws(JSONProblem) -> LoadPriority { try read(.priority) ?? .normal }
  func variant() throws(JSONProblem) -> RequestVariant { RequestVariant(name: try read(.variant), edge: try read(.edge)) }

  func outcome() throws(JSONProblem) -> LoadOutcome {
    guard let outcome: LoadOutcome = try read(.outcome) else { throw JSONProblem("the row has no outcome") }
    return outcome
  }

  /// Whether a failed or blacklisted entry counted in the verdict of its run.
  func standing(_ outcome: LoadOutcome) throws(JSONProblem) -> FailureStanding {
    guard outcome == .failed || outcome == .blacklisted else { return .counts }
    let columns: KeyValuePairs<RowColumn, FailureStanding> = [.known: .known, .inGrace: .inGrace, .warned: .warned]
    for (column, standing) in columns where try read(column) ?? false { return standing }
    return .counts
  }

  /// The result of the entry, as far as the row has it.
  func result() throws(JSONProblem) -> EntryResult {
    let outcome = try outcome()
    var result = EntryResult(outcome)
    result.format = try read(.format)
    result.isShared = try read(.shared) ?? false
    result.remoteCache = try read(.remoteCache)
    result.attempts = try read(.attempts) ?? 0
    result.width = try read(.width) ?? 0
    result.height = try read(.height) ?? 0
    result.metadata = try metadata()
    result.bytes = try read(.bytes) ?? 0
    result.storedBytes = try read(.storedBytes)
    // Rows don't have the received bytes; for an image that was fetched as a whole, they are the body.
    if outcome == .downloaded || outcome == .checked, result.attempts > 0 { result.receivedBytes = result.bytes }
    if let milliseconds: JSONNumber = try read(.duration) {
      // Rows have microseconds; no transfer takes as long as a month.
      result.durationNanoseconds = UInt64((min(milliseconds.value, 2.5e9) * 1000).rounded()) * 1000
    }
    result.checksum = try read(.bodyHash)
    if let details = try details(outcome) { result.details = details }
    if result.failure == nil { result.status = UInt16(clamping: (try read(.status) as StatusCode?)?.code ?? 0) }
    if let image = try transformed() { result.add(image) }
    return result
  }

  private func transformed() throws(JSONProblem) -> TransformedImage? {
    let image = TransformedImage(
      format: try read(.transformedFormat),
      width: try read(.transformedWidth) ?? 0,
      height: try read(.transformedHeight) ?? 0,
      bytes: try read(.transformedBytes) ?? 0,
      checksum: try read(.transformedHash)
    )
    return image.bytes > 0 || image.format != nil ? image : nil
  }

  /// What the list says besides the URL; nil if that is all.
  func note() throws(JSONProblem) -> EntryNote? {
    let (id, element): (String?, String?) = (try read(.id), try read(.element))
    guard id != nil || element != nil else { return nil }
    let origin = PageOrigin(element: element ?? "", attribute: try read(.attribute) ?? "")
    return EntryNote(id: id, origin: element == nil ? nil : origin, pages: try read(.pages) ?? 0)
  }

  private func metadata() throws(JSONProblem) -> ImageMetadata {
    let orientation: UInt32? = try read(.orientation)
    let dpi: UInt32? = try read(.dpi)
    return ImageMetadata(
      hasProfile: try read(.profile) ?? false,
      orientation: UInt8(min(max(orientation ?? 1, 1), 8)),
      hasPosition: try read(.gps) ?? false,
      dpi: UInt16(clamping: dpi ?? 0)
    )
  }

  private func details(_ outcome: LoadOutcome) throws(JSONProblem) -> EntryResult.Details? {
    var details = EntryResult.Details()
    (details.failure, details.isBlacklisted) = (try failure(outcome), outcome == .blacklisted)
    details.finalURL = try read(.finalURL)
    details.contentType = try read(.contentType)
    details.warnings = try read(.warnings) ?? []
    details.isRecovered = try read(.recovered) ?? false
    let isNone = details.failure == nil && details.finalURL == nil && details.contentType == nil && details.warnings.isEmpty
    return isNone && !details.isRecovered ? nil : details
  }

  /// For `failed`, `blacklisted` and, if this machine was to blame, `cancelled`; nil if the row doesn't say.
  func failure(_ outcome: LoadOutcome) throws(JSONProblem) -> ImageFailure? {
    guard [.failed, .blacklisted, .cancelled].contains(outcome), let kind: FailureKind = try read(.kind) else { return nil }
    let status: StatusCode? = try read(.status)
    var failure = ImageFailure(kind, status: status?.code, message: try read(.message) ?? "")
    failure.isTransient = try read(.transient) ?? false
    return failure
  }
}

extension EntryResult {
  /// Adds the transformed image of a row, which has the original's bytes or none.
  fileprivate mutating func add(_ new: TransformedImage) {
    guard bytes == 0, image.format == nil else { return transformed = new }
    isTransformed = true
    (image.format, image.width, image.height) = (new.format, new.width, new.height)
    (bytes, checksum) = (new.bytes, new.checksum)
  }
}

/// The last line of a shard's rows, `{"shard":"1/2","job":{…},…}`: its part of the job and how its run ended, with the names of a JSON
/// report. So a merge notices a missing, empty or unfinished shard.
package struct RowsEnd {
  var job = JobIdentity()
  var startedAt: Timestamp?
  var end = RunEnd(finishedAt: nil, duration: .zero)
  var failOn = FailOn()

  init() {}
  init(_ report: FinishedReport) { (job, startedAt, end, failOn) = (report.job, report.startedAt, report.end, report.failOn) }
  func append(to output: inout OutputBuffer) { output.append(jsonTree.line + "\n") }
}

extension RowsEnd: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    json.derived("shard", job.shard?.label)
    try json.field("job", &job)
    try json.field("started_at", &startedAt)
    try end.codeRun(&json)
    try json.field("fail_on", &failOn)
    try json.check(job.shard != nil, "names no shard")
  }
}

extension ReportedShard {
  /// `2/5`, as `--shard` accepts it.
  var label: String { "\(index)/\(count)" }
}
