import Base

/// Counts the rows of JSON Lines reports, with the same totals, hosts, failures and latencies as the runs that wrote them.
///
/// The report lacks the facts that rows don't have: start and end of the run, its rules, the cache and the blacklist, and bytes of
/// failed attempts. Rows of several files count as one run. Manifests are in the order of their first rows.
public final class RowReplay {
  /// The limit of manifests in rows; a run with more of them needs a JSON report.
  public static let maximumManifests = 100_000
  public static let maximumVariants = 4096

  private let report: RunReport
  private let normalizer = URLNormalizer()
  private var manifests: [String: Int] = [:]
  private var variants: [RequestVariant: Int] = [:]
  private var lastManifest: (path: [UInt8], index: Int)?
  private var shard: String?
  /// The end of the rows; nil if they have none, or several.
  private var end: RowsEnd?
  private var normalized: [UInt8] = []
  /// Sums over the rows so far, which prevent overflows.
  private var claimedBytes: UInt64 = 0
  private var claimedWaits: UInt64 = 0

  /// Counts rows for `report`, which its owner finishes. It must not have manifests or variants yet.
  public init(into report: RunReport) { self.report = report }

  /// Counts the rows of a file; passing a JSON report is a programmer error and traps.
  public func add(_ input: ReportInput) throws(ReportReadingError) {
    trap(unless: input.kind == .rows, "\(input.path) has no rows")
    var ends: [RowsEnd] = []
    try input.rows(onEnd: { end in
      ends.append(end)
      report.append(end)
    }) { row throws(JSONProblem) in try record(row) }
    end = ends.count == 1 ? ends[0] : nil
  }

  /// Returns the report, and finishes the journals. Rows of a shard name their job, its rules and the end of its run.
  public func finish() throws(ReportError) -> FinishedReport {
    try report.flushJournals()
    return finished(end)
  }

  private func finished(_ rowsEnd: RowsEnd?) -> FinishedReport {
    guard let rowsEnd else {
      var end = RunEnd(finishedAt: nil, duration: .zero)
      end.isEmpty = report.totals.urls == 0
      return report.finish(end)
    }
    var finished = report.finish(rowsEnd.end, failOn: rowsEnd.failOn)
    (finished.job, finished.startedAt) = (rowsEnd.job, rowsEnd.startedAt)
    return finished
  }

  /// Counts the rows of shards, one report for each shard.
  ///
  /// - Parameters:
  ///   - copies: gets each row, too.
  ///   - make: makes a replay without rows.
  public static func reports(
    ofShardsIn input: ReportInput,
    copies: RowReplay?,
    make: () -> RowReplay
  ) throws(ReportReadingError) -> [FinishedReport] {
    var (reports, replay, isOpen) = ([FinishedReport](), make(), false)
    try input.rows(onEnd: { end throws(JSONProblem) in
      guard !isOpen || replay.shard == end.job.shard?.label else {
        throw JSONProblem("the rows before are of shard \(replay.shard ?? "none"), not of \(end.job.shard?.label ?? "none")")
      }
      reports.append(replay.finished(end))
      copies?.report.append(end)
      (replay, isOpen) = (make(), false)
    }) { row throws(JSONProblem) in
      let label: String? = try row.read(.shard)
      guard !isOpen || replay.shard == label else { throw JSONProblem("rows of several shards are mixed") }
      isOpen = true
      try replay.record(row)
      try copies?.record(row)
    }
    guard isOpen else { return reports }
    guard let shard = replay.shard else { return reports + [replay.finished(nil)] }
    throw ReportReadingError(path: input.path, message: "has rows of shard \(shard) without their end: it was cut or filtered")
  }

  /// The name of a report on the rows of a file, which don't name their job: the file's name without its extension.
  public static func name(ofFile path: String) -> String {
    if path == "-" { return "report" }
    let file = path.split(separator: "/").last.map(String.init) ?? path
    let stem = file.split(separator: ".").first.map(String.init)
    return stem ?? file
  }

  private func record(_ row: ReportRow) throws(JSONProblem) {
    let result = try row.result()
    try claim(result)
    let url = try row.url()
    let variant = try variant(of: row)
    let entry = (line: try row.line(), priority: try row.priority(), manifest: try manifest(of: row))
    let standing = try row.standing(result.outcome)
    let note = try row.note()
    try readShard(of: row)
    let isRepeated = try row.read(.repeated) ?? false
    let parts = result.failure?.kind == .invalidURL ? .empty : normalize(url)
    normalized.withUnsafeBytes { bytes in
      var hash: UInt64?
      // The locations of a failing image are found by its normal form, whatever its spelling.
      if result.failure != nil, parts != .empty {
        hash = DuplicateIndex.hash(UnsafeRawBufferPointer(rebasing: bytes[..<parts.count]))
      }
      var reported = ReportedEntry(
        url: url,
        manifest: entry.manifest,
        line: entry.line,
        priority: entry.priority,
        host: UnsafeRawBufferPointer(rebasing: bytes[parts.hostAndPort]),
        variant: variant,
        imageHash: hash
      )
      reported.note = note
      reported.isRepeated = isRepeated
      report.record(result, of: reported, standing: standing)
    }
  }

  private func readShard(of row: ReportRow) throws(JSONProblem) {
    let label: String? = try row.read(.shard)
    guard label != shard else { return }
    shard = label
    report.setShard(label)
  }

  private func claim(_ result: EntryResult) throws(JSONProblem) {
    claimedBytes += result.bytes + (result.storedBytes ?? 0) + result.receivedBytes
    guard claimedBytes <= JSONValue.maximumCount else { throw JSONProblem("the rows add up to more bytes than possible") }
    let (waits, overflows) = claimedWaits.addingReportingOverflow(result.waitedNanoseconds)
    guard !overflows else { throw JSONProblem("the rows add up to longer waits than possible") }
    claimedWaits = waits
  }

  /// Normalises a URL into `normalized` and returns the ranges of its parts; empty for an invalid URL.
  private func normalize(_ url: UnsafeRawBufferPointer) -> URLParts {
    normalized.removeAll(keepingCapacity: true)
    do throws(InvalidURL) { return try normalizer.normalize(url, relativeTo: nil, into: &normalized) } catch { return .empty }
  }

  private func manifest(of row: ReportRow) throws(JSONProblem) -> Int {
    let path = try row.manifest()
    // Rows mostly name one manifest many times in a row.
    if let lastManifest, lastManifest.path.count == path.count, lastManifest.path.elementsEqual(path) {
      return lastManifest.index
    }
    let name = String(decoding: path, as: UTF8.self)
    let index: Int
    if let known = manifests[name] {
      index = known
    } else {
      guard manifests.count < Self.maximumManifests else {
        throw JSONProblem("the rows name more than \(grouped(UInt64(Self.maximumManifests))) lists; read the JSON report instead")
      }
      index = report.addManifest(name)
      manifests[name] = index
    }
    lastManifest = (Array(path), index)
    return index
  }

  private func variant(of row: ReportRow) throws(JSONProblem) -> Int {
    let variant = try row.variant()
    guard variant.name != nil || variant.edge != nil else { return 0 }
    if let known = variants[variant] { return known }
    guard variants.count < Self.maximumVariants else {
      throw JSONProblem("the rows name more than \(grouped(UInt64(Self.maximumVariants))) variants, more than any run has")
    }
    let index = report.addVariant(variant)
    variants[variant] = index
    return index
  }
}
