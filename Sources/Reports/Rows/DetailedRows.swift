public import ImagePrimitives

/// Rows with all facts that a report needs, for counting on another machine.
///
/// Each is a row of a JSON Lines report with more members, which are omitted if they are 0, false or unknown: `received_bytes`,
/// `waited_ns`, `known_bad`, `left_out` (filtered), `joined_blacklist`, `left_blacklist`, and `prefix_hash` in hexadecimal
/// digits. `manifest` is the manifest's index.
public struct DetailedRows: ~Copyable {
  /// The limit of manifests.
  public static let maximumManifests = 100_000

  /// The facts about an entry beside its result.
  public struct Remarks: Sendable {
    /// Whether `include` and `exclude` filtered the entry out.
    public var isLeftOut = false
    /// Whether its failure added its URL to the blacklist.
    public var joinedBlacklist = false
    /// Whether its success removed its URL from the blacklist.
    public var leftBlacklist = false

    /// No further facts.
    public init() {}
  }

  /// The members beyond those of ``RowColumn``.
  fileprivate enum Detail {
    static let receivedBytes: StaticString = "received_bytes"
    static let waited: StaticString = "waited_ns"
    static let knownBad: StaticString = "known_bad"
    static let leftOut: StaticString = "left_out"
    static let joinedBlacklist: StaticString = "joined_blacklist"
    static let leftBlacklist: StaticString = "left_blacklist"
    static let prefixHash: StaticString = "prefix_hash"
  }

  private var rows = JournalRows<JSONRow>(capacity: 4096)
  private var manifestCount = 0

  /// Creates an empty buffer for entries with those variants; ``ReportedEntry/variant`` numbers them from 1.
  package init(variants: [RequestVariant]) {
    for variant in variants { rows.addVariant(variant) }
  }

  /// Adds the row of an entry; a manifest's index of ``maximumManifests`` or more is a programmer error and traps.
  public mutating func append(_ result: EntryResult, of entry: ReportedEntry, _ remarks: Remarks = Remarks()) {
    trap(unless: entry.manifest < Self.maximumManifests, "rows can name \(Self.maximumManifests) manifests only")
    while manifestCount <= entry.manifest {
      rows.addManifest(String(manifestCount))
      manifestCount += 1
    }
    rows.append(result, of: entry)
    rows.buffer.removeLast(Self.rowEnd.utf8CodeUnitCount)
    append(Detail.receivedBytes, result.receivedBytes)
    append(Detail.waited, result.waitedNanoseconds)
    append(Detail.knownBad, result.details?.isBlacklisted ?? false)
    append(Detail.leftOut, remarks.isLeftOut)
    append(Detail.joinedBlacklist, remarks.joinedBlacklist)
    append(Detail.leftBlacklist, remarks.leftBlacklist)
    if let checksum = result.details?.prefixChecksum {
      appendName(Detail.prefixHash)
      rows.buffer.appendLiteral("\"")
      rows.buffer.append(hexadecimal: checksum.high)
      rows.buffer.append(hexadecimal: checksum.low)
      rows.buffer.appendLiteral("\"")
    }
    rows.buffer.appendLiteral(Self.rowEnd)
  }

  private static var rowEnd: StaticString { "}\n" }

  private mutating func appendName(_ name: StaticString) {
    rows.buffer.appendLiteral(",\"")
    rows.buffer.appendLiteral(name)
    rows.buffer.appendLiteral("\":")
  }

  private mutating func append(_ name: StaticString, _ value: UInt64) {
    guard value > 0 else { return }
    appendName(name)
    rows.buffer.append(decimal: value)
  }

  private mutating func append(_ name: StaticString, _ value: Bool) {
    guard value else { return }
    appendName(name)
    rows.buffer.appendLiteral("true")
  }

  /// Calls `body` with all rows and their line feeds, which are valid during the call only.
  public borrowing func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    rows.buffer.withUnsafeBytes(body)
  }

  /// Removes all rows.
  public mutating func removeAll() { rows.buffer.removeAll() }
}

extension ReportRow {
  func remarks() throws(JSONError) -> DetailedRows.Remarks {
    var remarks = DetailedRows.Remarks()
    remarks.isLeftOut = try read(DetailedRows.Detail.leftOut) ?? false
    remarks.joinedBlacklist = try read(DetailedRows.Detail.joinedBlacklist) ?? false
    remarks.leftBlacklist = try read(DetailedRows.Detail.leftBlacklist) ?? false
    return remarks
  }

  /// The result as on the machine that wrote the row.
  func detailedResult() throws(JSONError) -> EntryResult {
    var result = try result()
    result.receivedBytes = try read(DetailedRows.Detail.receivedBytes) ?? 0
    result.waitedNanoseconds = try read(DetailedRows.Detail.waited) ?? 0
    let prefix: Checksum? = try read(DetailedRows.Detail.prefixHash)
    guard result.details != nil || prefix != nil else { return result }
    result.details = EntryResult.Details(
      failure: result.failure,
      isBlacklisted: try read(DetailedRows.Detail.knownBad) ?? false,
      finalURL: result.details?.finalURL,
      contentType: result.details?.contentType,
      warnings: result.details?.warnings ?? [],
      prefixChecksum: prefix,
      transformed: result.details?.transformed
    )
    return result
  }
}
