import Base

/// Reads a page, and the documents in its `srcdoc` attributes, into a collector.
final class PageReader {
  private let collector: PageCollector
  private let limits: PageLimits
  /// The memory that the trees may still use.
  private var remainingBytes: Int
  private var frames: [(text: [UInt8], line: UInt64, depth: Int)] = []
  private(set) var isNoFollow = false

  init(_ collector: PageCollector) {
    self.collector = collector
    limits = collector.rules.limits
    remainingBytes = limits.totalTreeBytes
  }

  func read(_ bytes: UnsafeRawBufferPointer, contentType: String?) {
    let (encoding, markBytes) = PageEncoding.ofPage(bytes, contentType: contentType)
    collector.withText(bytes, encoding, markBytes: markBytes) { readParts($0, firstLine: 1, depth: 0) }
    // After the page's own tree, so that there is one tree at a time. Each starts with the base of its page.
    let base = collector.base
    var next = 0
    while next < frames.count {
      let frame = frames[next]
      frames[next].text = []
      next += 1
      guard remainingBytes > 0 else { return collector.remarks.add(.memory, line: frame.line) }
      collector.base = base
      frame.text.withRawBytes { readParts($0, firstLine: frame.line, depth: frame.depth) }
    }
  }

  private func readParts(_ text: UnsafeRawBufferPointer, firstLine: UInt64, depth: Int) {
    var rest = text
    var line = firstLine
    var hasBase = false
    while !rest.isEmpty {
      let tree = HTMLTree(rest, limits, remainingBytes: remainingBytes)
      remainingBytes -= tree.usedBytes
      if !hasBase, let base = base(in: tree) {
        collector.base = base
        hasBase = true
      }
      // Lines in a srcdoc are those of its element.
      let elements = PageElements(collector, line: depth == 0 ? .after(line - 1) : .fixed(firstLine))
      tree.forEachElement { elements.read($0) }
      isNoFollow = isNoFollow || (depth == 0 && elements.isNoFollow)
      for (text, line) in elements.frames {
        if depth < limits.frames { frames.append((text, line, depth + 1)) } else { collector.remarks.add(.frames, line: line) }
      }
      line += UnsafeRawBufferPointer(rebasing: rest.prefix(tree.bytes)).lineBreaks
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(tree.bytes))
      switch tree.end {
      case .complete: return
      case .tooManyAttributes: return collector.remarks.add(.attributes, line: line)
      case .tooLarge where tree.bytes == 0 || remainingBytes <= 0: return collector.remarks.add(.memory, line: line)
      case .tooDeep:
        collector.remarks.nesting.add(line: line)
        if tree.bytes == 0 || remainingBytes <= 0 { return collector.remarks.add(.memory, line: line) }
      case .tooLarge: break
      }
    }
  }

  /// The first `base` element with a URL applies to the whole document (HTML Standard, section 4.2.3).
  private func base(in tree: borrowing HTMLTree) -> BaseURL? {
    var written: UnsafeRawBufferPointer?
    tree.forEachElement { element in
      if written == nil, element.isBase { written = element.attribute("href") }
    }
    return written.flatMap { collector.baseURL($0) }
  }
}
