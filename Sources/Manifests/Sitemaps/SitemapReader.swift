import ImagePrimitives
import ImageURLs

/// Rows of a sitemap, and the sitemaps that an index names.
final class SitemapReader: RowReader {
  /// Bytes per parser call; more bytes would mean more locations in memory.
  private static let feedBytes = 4096
  /// Bytes that are read without a row before other work gets a turn.
  private static let sliceBytes = 256 << 10

  private let buffer: InputBuffer
  private let content: SitemapContent
  private let parser: SitemapParser
  private let manifest: String
  private let rules: SitemapRules
  private var hasBegun = false
  private var hasEnded = false

  init(_ buffer: InputBuffer, rules: SitemapRules, manifest: String) {
    self.buffer = buffer
    self.rules = rules
    self.manifest = manifest
    content = SitemapContent(rules)
    parser = SitemapParser(content)
  }

  /// Reads up to the first element, so that a file that isn't a sitemap fails at once.
  func readHeader() throws(ManifestError) -> Bool {
    while content.root == nil {
      if hasEnded || parser.failure != nil {
        if let failure = buffer.failure { throw failure.error(in: manifest) }
        try checkEnd()
        throw ManifestError(manifest: manifest, line: 1, message: "it is empty; a sitemap starts with <urlset> or <sitemapindex>")
      }
      if !feed() { return false }
    }
    return true
  }

  var mayNamePriority: Bool { rules.usesPriority }

  var hasRowsByBytes: Bool { content.root == .urlSet }

  var remarks: ReadingRemarks { content.remarks }

  func checkEnd() throws(ManifestError) {
    if let (line, message) = parser.failure { throw ManifestError(manifest: manifest, line: line, message: message) }
  }

  func next() -> RowStep {
    var consumed = buffer.offset
    while true {
      if let location = content.next() { return step(location) }
      if hasEnded || parser.failure != nil { return .end }
      if buffer.offset - consumed >= Self.sliceBytes {
        consumed = buffer.offset
        return .nothingYet
      }
      if !feed() { return .wouldBlock }
    }
  }

  private func step(_ location: SitemapContent.Location) -> RowStep {
    let text = content.text(of: location)
    if location.kind == .sitemap { return .child(text, line: location.line, .sitemap) }
    if text.count > InputBuffer.maximumRowBytes { return .row(.tooLong(text, line: location.line)) }
    if text.isEmpty { return .row(.broken(text, line: location.line, problem: "empty location")) }
    let priority = location.priority.map { UnsafeRawBufferPointer(start: $0.utf8Start, count: $0.utf8CodeUnitCount) }
    return .row(Row(url: text, priority: priority, line: location.line))
  }

  /// Passes available bytes to the parser; returns false if it would block.
  private func feed() -> Bool {
    content.discardRead()
    while buffer.bytes.isEmpty {
      switch buffer.fill() {
      case .grown: break
      case .wouldBlock: return false
      case .ended:
        hasEnded = true
        // If reading failed, that is the error to report, not the incomplete XML.
        if buffer.failure == nil, hasBegun || !buffer.bytes.isEmpty { parser.feed(buffer.bytes, isLast: true) }
        buffer.consume(buffer.bytes.count)
        return true
      }
    }
    let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes.prefix(Self.feedBytes))
    hasBegun = true
    parser.feed(bytes, isLast: false)
    buffer.consume(bytes.count)
    return true
  }
}

/// The sitemaps that a manifest's indexes have named. Each is read once; depth, number and bytes are limited.
struct SitemapTree {
  /// The maximum number of indexes that lead to a sitemap; sitemaps.org allows one.
  static let maximumDepth = 3
  /// The maximum number of sitemaps of a manifest; sitemaps.org allows one index this many.
  static let maximumCount = 50_000

  /// The maximum length of a sitemap's URL; the limit of sitemaps.org is lower.
  static let maximumURLBytes = 2048
  /// The maximum memory of all URLs, since each is kept for the report.
  static let maximumBytes = 16 << 20

  private static let shownBytes = 256

  private var seen: Set<BaseURL> = []
  private var seenBytes = 0

  /// Returns a file for a sitemap that `parent` names; nil if it was named before.
  ///
  /// Throws a sentence if it must not be followed.
  mutating func child(_ written: UnsafeRawBufferPointer, of parent: ManifestFile, by normalizer: URLNormalizer)
    throws(InputError) -> ManifestFile?
  {
    if seen.isEmpty, case .url(let url)? = parent.location { seen.insert(url) }
    guard written.count <= Self.maximumURLBytes else {
      throw InputError(
        "the index names a sitemap with a URL longer than \(Self.maximumURLBytes) bytes, '\(Self.shown(written))…'; skipped"
      )
    }
    var bytes: [UInt8] = []
    let parts: URLParts
    do throws(InvalidURL) {
      parts = try normalizer.normalize(written, relativeTo: parent.base, into: &bytes)
    } catch {
      throw InputError("the index names a sitemap with an invalid URL, '\(Self.shown(written))': \(error.message)")
    }
    let url = bytes.withUnsafeBytes { BaseURL(normalized: $0, parts: parts) }
    guard !seen.contains(url) else { return nil }
    let name = bytes.withUnsafeBytes { String(decoding: maskingCredentials($0), as: UTF8.self) }
    guard parent.depth < Self.maximumDepth else {
      throw InputError("indexes are nested more than \(Self.maximumDepth) levels deep; sitemap \(name) skipped")
    }
    guard seen.count < Self.maximumCount else {
      throw InputError("the indexes name more than \(Self.maximumCount) sitemaps; \(name) and all later ones skipped")
    }
    guard seenBytes + bytes.count <= Self.maximumBytes else {
      throw InputError(
        "the URLs of sitemaps exceed \(Self.maximumBytes >> 20) MiB in total; \(name) and all later ones skipped"
      )
    }
    seenBytes += bytes.count
    seen.insert(url)
    return ManifestFile(
      manifest: parent.manifest,
      name: name,
      location: .url(url),
      base: url,
      kind: .sitemap,
      depth: parent.depth + 1,
      trusted: parent.trusted ?? url
    )
  }

  private static func shown(_ written: UnsafeRawBufferPointer) -> String {
    String(decoding: maskingCredentials(written).prefix(shownBytes), as: UTF8.self)
  }
}
