import ImagePrimitives

/// Turns the elements of a sitemap into locations to fetch, in document order.
///
/// The parser reports elements as it meets them. The locations of an entry are held until the entry ends, since its
/// date and priority may follow them.
final class SitemapContent {
  /// A location to fetch.
  struct Location {
    /// Its range in ``texts``.
    var range: Range<Int>
    var line: UInt64
    var kind: Kind
    /// The name of its priority, if its entry sets one.
    var priority: StaticString?
  }

  enum Kind {
    case image, page, sitemap
  }

  /// Deeper than any sitemap or extension, so that nesting needs no memory.
  private static let maximumDepth = 64
  /// The maximum of an entry; Google accepts 1,000 images per page.
  private static let maximumEntryLocations = 10_000
  private static let maximumEntryBytes = 8 << 20
  private static let maximumFieldBytes = 64

  private enum Capture {
    case location(Kind), lastModified, priority
  }

  /// The root element, once it is known.
  private(set) var root: SitemapElement?
  private(set) var remarks = ReadingRemarks()
  /// The reason why the rest isn't read.
  private(set) var problem: String?

  private let rules: SitemapRules
  private let texts = GrowingBytes()
  private var ready: [Location] = []
  private var readyIndex = 0
  private var depth = 0
  private var entry: SitemapElement?
  private var held: [Location] = []
  private var heldStart = 0
  private var lastModified: [UInt8] = []
  private var lastModifiedLine: UInt64 = 0
  private var priority: [UInt8] = []
  private var capture: (what: Capture, depth: Int, line: UInt64, start: Int)?

  init(_ rules: SitemapRules) { self.rules = rules }

  // MARK: Results

  /// Returns the next location of a finished entry; nil if the parser must continue.
  func next() -> Location? {
    guard readyIndex < ready.count else { return nil }
    defer { readyIndex += 1 }
    return ready[readyIndex]
  }

  /// Valid until the parser continues.
  func text(of location: Location) -> UnsafeRawBufferPointer { texts[location.range] }

  /// Frees locations that ``next()`` has returned; must be called before the parser continues.
  func discardRead() {
    guard readyIndex == ready.count else { return }
    ready.removeAll(keepingCapacity: true)
    readyIndex = 0
    let start = entry == nil ? texts.count : heldStart
    texts.removeFirst(start)
    heldStart -= min(start, heldStart)
    for index in held.indices { held[index].range = held[index].range.lowerBound - start..<held[index].range.upperBound - start }
    capture?.start -= start
  }

  // MARK: Parser events

  func start(_ element: SitemapElement, name: @autoclosure () -> String, line: UInt64) {
    depth += 1
    if depth > Self.maximumDepth { return refuse("its elements are nested more than \(Self.maximumDepth) levels deep") }
    switch depth {
    case 1:
      guard element == .urlSet || element == .index else {
        return refuse("its first element is <\(name())>, but a sitemap starts with <urlset> or <sitemapindex>")
      }
      root = element
    case 2:
      guard element == .url || element == .sitemap else { return }
      entry = element
      heldStart = texts.count
    default:
      guard capture == nil, let entry, let what = captured(element, in: entry) else { return }
      capture = (what, depth, line, texts.count)
    }
  }

  func text(_ bytes: UnsafeRawBufferPointer) {
    guard let capture, capture.depth == depth else { return }
    switch capture.what {
    case .location:
      // One byte beyond the maximum shows that it is too long.
      texts.append(
        UnsafeRawBufferPointer(rebasing: bytes.prefix(InputBuffer.maximumRowBytes + 1 - (texts.count - capture.start)))
      )
    case .lastModified: lastModified.append(contentsOf: bytes.prefix(Self.maximumFieldBytes - lastModified.count))
    case .priority: priority.append(contentsOf: bytes.prefix(Self.maximumFieldBytes - priority.count))
    }
  }

  func end() {
    if let capture, capture.depth == depth {
      if case .location(let kind) = capture.what { hold(capture.start, capture.line, kind) }
      if case .lastModified = capture.what { lastModifiedLine = capture.line }
      self.capture = nil
    }
    if depth == 2, entry != nil { endEntry() }
    depth -= 1
  }

  /// Records that the rest can't be read; the first reason is kept.
  func refuse(_ sentence: String) { problem = problem ?? sentence }

  private func captured(_ element: SitemapElement, in entry: SitemapElement) -> Capture? {
    switch element {
    case .location where depth == 3: .location(entry == .sitemap ? .sitemap : .page)
    case .lastModified where depth == 3: .lastModified
    case .priority where depth == 3: .priority
    case .imageLocation where entry == .url: .location(.image)
    default: nil
    }
  }

  private func hold(_ start: Int, _ line: UInt64, _ kind: Kind) {
    let written = texts[start..<texts.count]
    let text = written.trimmedOfXMLSpace()
    let isTaken = kind != .page || rules.takesEveryLocation || ImageExtension.ends(text)
    guard isTaken else {
      remarks.pages += 1
      texts.removeAll(from: start)
      return
    }
    let first = start + written.offset(of: text)
    held.append(Location(range: first..<first + text.count, line: line, kind: kind))
    if held.count > Self.maximumEntryLocations || texts.count - heldStart > Self.maximumEntryBytes {
      refuse("an entry has more than \(Self.maximumEntryLocations) locations or \(Self.maximumEntryBytes >> 20) MiB")
    }
  }

  private func endEntry() {
    defer {
      entry = nil
      held.removeAll(keepingCapacity: true)
      lastModified.removeAll(keepingCapacity: true)
      priority.removeAll(keepingCapacity: true)
    }
    if isTooOld {
      remarks.tooOld += 1
      texts.removeAll(from: heldStart)
      return
    }
    let name = rules.usesPriority ? SitemapPriority.name(of: priority) : nil
    for var location in held {
      location.priority = name
      ready.append(location)
      remarks.entries += 1
    }
  }

  private var isTooOld: Bool {
    guard let newerThan = rules.newerThan, !lastModified.isEmpty else { return false }
    let latest = lastModified.withUnsafeBytes { LastModified.latest($0.trimmedOfXMLSpace()) }
    if latest == nil {
      remarks.unreadableDates.add(line: lastModifiedLine, String(decoding: lastModified, as: UTF8.self))
    }
    return latest.map { $0 <= newerThan } ?? false
  }
}

extension UnsafeRawBufferPointer {
  /// Returns the bytes without surrounding XML white space.
  fileprivate func trimmedOfXMLSpace() -> UnsafeRawBufferPointer {
    let isSpace = { (byte: UInt8) in byte == 0x20 || 0x09...0x0a ~= byte || byte == 0x0d }
    guard let start = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else {
      return UnsafeRawBufferPointer(rebasing: self[..<0])
    }
    return UnsafeRawBufferPointer(rebasing: self[start...last])
  }
}

/// The priority that a sitemap's `<priority>` means.
enum SitemapPriority {
  /// The name of the priority for a number from 0.0 to 1.0; nil for other texts, so that the manifest's priority
  /// applies.
  static func name(of text: [UInt8]) -> StaticString? {
    guard let value = Double(String(decoding: text, as: UTF8.self).trimming()), value.isFinite else { return nil }
    return switch value {
    case 0.9...: "very-high"
    case 0.7...: "high"
    case 0.4...: "normal"
    case 0.2...: "low"
    default: "very-low"
    }
  }
}

extension String {
  /// Returns the text without surrounding white space.
  fileprivate func trimming() -> Substring {
    let start = firstIndex { !$0.isWhitespace } ?? endIndex
    let end = lastIndex { !$0.isWhitespace }.map(index(after:)) ?? start
    return self[start..<end]
  }
}

/// Distinguishes images from pages by their URLs alone.
package enum ImageExtension {
  private static let all: [StaticString] = [
    "jpg", "jpeg", "png", "webp", "gif", "avif", "svg", "jpe", "jfif", "apng", "heic", "heif", "jxl", "bmp", "ico", "tif", "tiff",
  ]

  /// Whether the path of a URL or reference ends in an image extension, in any letter case.
  package static func ends(_ url: UnsafeRawBufferPointer) -> Bool {
    let end = url.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? url.count
    guard let dot = url[..<end].lastIndex(of: UInt8(ascii: ".")), (3...4).contains(end - dot - 1) else { return false }
    return all.contains { name in
      name.utf8CodeUnitCount == end - dot - 1
        && (0..<(end - dot - 1)).allSatisfy { name.utf8Start[$0] == url[dot + 1 + $0] | 0x20 }
    }
  }
}
