import Base

/// Test cases of entries that wait to be written, and the number of omitted ones.
///
/// `classname` is the host and `name` the URL with the names of its variant and edge, so that a CI server recognises a case in the next
/// run. The server would count two cases with the same name as one, so further ones get a number: `https://… (2)`.
struct JUnitCases: ~Copyable {
  /// The limit of texts in bytes: much longer ones would take the place of other cases.
  static let textLimit = 2000

  var buffer: OutputBuffer
  private let listsSuccesses: Bool
  private let workspace: String?
  private var manifests: [(path: String, file: String?)] = []
  private var variants = [RequestVariant.plain]
  /// How many cases had a name, by its hash: a collision only adds a number that the case wouldn't need.
  private var names: [UInt64: UInt32] = [:]

  init(capacity: Int, listsSuccesses: Bool, workspace: String?) {
    buffer = OutputBuffer(capacity: capacity)
    self.listsSuccesses = listsSuccesses
    self.workspace = workspace
  }

  mutating func addManifest(_ path: String, file: String?) {
    manifests.append((path, file.flatMap { pathInWorkspace($0, workspace) }))
  }

  mutating func addVariant(_ variant: RequestVariant) { variants.append(variant) }

  /// Whether an entry of that outcome has a case.
  func lists(_ outcome: LoadOutcome) -> Bool { listsSuccesses || outcome == .failed || outcome == .blacklisted }

  mutating func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
    let manifest = manifests[entry.manifest]
    buffer.appendLiteral("    <testcase classname=\"")
    if entry.host.isEmpty { buffer.appendLiteral("(no host)") } else { buffer.appendXML(entry.host, limit: Self.textLimit) }
    buffer.appendLiteral("\" name=\"")
    appendName(of: entry)
    buffer.appendLiteral("\"")
    buffer.appendXML(attribute: "time", seconds: Double(result.durationNanoseconds) / 1e9)
    if let file = manifest.file {
      buffer.appendXML(attribute: "file", file)
      if entry.line > 0 { buffer.appendXML(attribute: "line", entry.line) }
    }
    switch result.outcome {
    case .failed, .blacklisted:
      buffer.appendLiteral(">\n")
      appendFailure(result, of: entry, manifest: manifest.path, standing: standing)
      buffer.appendLiteral("    </testcase>\n")
    case .skipped: buffer.appendLiteral("><skipped message=\"filtered out, or not cached (cache.mode: only)\"/></testcase>\n")
    case .cancelled: buffer.appendLiteral("><skipped message=\"not finished when the run stopped\"/></testcase>\n")
    case .hitMemory, .hitDisk, .downloaded, .revalidated, .checked: buffer.appendLiteral("/>\n")
    }
  }

  private mutating func appendName(of entry: ReportedEntry) {
    let start = buffer.count
    buffer.appendXML(entry.url, limit: Self.textLimit)
    if let variant = variants[entry.variant].title {
      buffer.appendLiteral(" [")
      buffer.appendXML(variant, limit: Self.textLimit)
      buffer.appendLiteral("]")
    }
    let key = buffer.withUnsafeBytes { EntryKey(url: UnsafeRawBufferPointer(rebasing: $0[start...])).low }
    let number = names[key, default: 0] + 1
    names[key] = number
    guard number > 1 else { return }
    buffer.appendLiteral(" (")
    buffer.append(decimal: UInt64(number))
    buffer.appendLiteral(")")
  }

  /// A failure that doesn't count is skipped, as other test runners report tests that are expected to fail: visible, but not red.
  private mutating func appendFailure(
    _ result: EntryResult,
    of entry: ReportedEntry,
    manifest: String,
    standing: FailureStanding
  ) {
    let failure = result.failureWithRedirect
    let message = failure?.message ?? "known bad"
    let element: StaticString = standing == .counts ? "failure" : "skipped"
    let reason = standing.sentence.map { " (\($0))" } ?? ""
    buffer.appendLiteral("      <")
    buffer.appendLiteral(element)
    buffer.appendXML(attribute: "type", failure?.kind.name ?? "blacklisted")
    buffer.appendLiteral(" message=\"")
    buffer.appendXML(message, limit: Self.textLimit)
    buffer.append(reason)
    buffer.appendLiteral("\">")
    buffer.appendXML(manifest, limit: Self.textLimit)
    if entry.line > 0 { buffer.append(":\(entry.line)") }
    buffer.appendLiteral(": ")
    // GitLab shows only this text.
    buffer.appendXML(message, limit: Self.textLimit)
    var facts: [String] = []
    if let status = failure?.status { facts.append("HTTP status \(status)") }
    if result.attempts > 0 { facts.append(counted(UInt64(result.attempts), "attempt")) }
    if let sentence = standing.sentence { facts.append(sentence) }
    if result.outcome == .blacklisted { facts.append("blacklisted, not requested") }
    if result.outcome == .failed, result.isBlacklisted { facts.append("blacklisted now") }
    if !facts.isEmpty { buffer.append("\n" + facts.joined(separator: ", ")) }
    buffer.appendLiteral("</")
    buffer.appendLiteral(element)
    buffer.appendLiteral(">\n")
  }
}

extension OutputBuffer {
  /// Appends text from outside as the content of an element or of an attribute in double quotes (XML 1.0, sections 2.2, 2.4 and 3.3.3).
  ///
  /// Characters that XML can't represent, such as controls and U+FFFE, appear as in ``escapedForTerminal(_:)``, and so do line ends,
  /// which an attribute would lose.
  mutating func appendXML(_ bytes: UnsafeRawBufferPointer, limit: Int) {
    appendVisible(bytes, limit: limit, replacing: xmlReference)
  }

  mutating func appendXML(_ text: String, limit: Int) { appendVisible(text, limit: limit, replacing: xmlReference) }

  mutating func appendXML(attribute name: StaticString, _ value: String, limit: Int = 2000) {
    appendAttribute(name) { $0.appendXML(value, limit: limit) }
  }

  mutating func appendXML(attribute name: StaticString, _ value: UInt64) {
    appendAttribute(name) { $0.append(decimal: value) }
  }

  /// To the microsecond.
  mutating func appendXML(attribute name: StaticString, seconds: Double) {
    appendAttribute(name) { $0.append(seconds, decimals: 6) }
  }

  @inline(__always)
  private mutating func appendAttribute(_ name: StaticString, _ value: (inout OutputBuffer) -> Void) {
    append(UInt8(ascii: " "))
    appendLiteral(name)
    appendLiteral("=\"")
    value(&self)
    append(UInt8(ascii: "\""))
  }
}

@inline(__always)
private func xmlReference(_ byte: UInt8) -> StaticString? {
  switch byte {
  case UInt8(ascii: "&"): "&amp;"
  case UInt8(ascii: "<"): "&lt;"
  // An element's text must not contain `]]>`.
  case UInt8(ascii: ">"): "&gt;"
  case UInt8(ascii: "\""): "&quot;"
  default: nil
  }
}
