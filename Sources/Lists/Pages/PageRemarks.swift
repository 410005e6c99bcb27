/// Parts of a page or stylesheet that were skipped.
package struct PageRemarks: Sendable {
  /// The reason why a page isn't read completely.
  package enum Limit: Sendable, Hashable {
    case bytes, memory, attributes, images, links, text, frames
  }

  /// The parts of one kind: their number, and the line of the first.
  package struct Skipped: Sendable, Hashable {
    package private(set) var count = 0
    package private(set) var line: UInt64 = 0

    mutating func add(line: UInt64) {
      if count == 0 { self.line = line }
      count += 1
    }
  }

  /// The limits that were exceeded, each once, with the line where it was.
  package private(set) var exceeded: [(limit: Limit, line: UInt64)] = []
  /// URLs that aren't fetched: `data:`, `blob:`, `javascript:` and the like, and those that are only a fragment.
  package var otherURLs = 0
  /// Candidates of a `srcset` with invalid descriptors, which browsers ignore.
  package var candidates = Skipped()
  /// JSON texts that are invalid, too long or nested too deeply.
  package var json = Skipped()
  /// Links and stylesheets with invalid URLs.
  package var links = Skipped()
  /// Elements nested too deeply, which were read as if they weren't nested.
  package var nesting = Skipped()

  mutating func add(_ limit: Limit, line: UInt64) {
    if !exceeded.contains(where: { $0.limit == limit }) { exceeded.append((limit, line)) }
  }

  /// Returns the first limit that was exceeded, as a sentence with its line; nil if there is none.
  func loss(limits: PageLimits = PageLimits()) -> (line: UInt64, sentence: String)? {
    exceeded.first.map { ($0.line, Self.sentence($0.limit, limits)) }
  }

  /// Returns the warnings, one sentence each.
  package func warnings(of page: String, limits: PageLimits = PageLimits()) -> [String] {
    var sentences = exceeded.map { "\(page):\($0.line): \(Self.sentence($0.limit, limits))" }
    let skipped = [
      (candidates, "srcset candidate has an invalid descriptor", "srcset candidates have invalid descriptors"),
      (json, "JSON text can't be read", "JSON texts can't be read"),
      (links, "link has an invalid URL", "links have invalid URLs"),
      (
        nesting, "element is nested more than \(limits.depth) levels deep and was read as if it weren't nested",
        "elements are nested more than \(limits.depth) levels deep and were read as if they weren't nested"
      ),
    ]
    for (skipped, one, many) in skipped where skipped.count > 0 {
      let location = skipped.count == 1 ? "it is in line \(skipped.line)" : "the first is in line \(skipped.line)"
      sentences.append("\(page): \(skipped.count) \(skipped.count == 1 ? one : many); \(location)")
    }
    return sentences
  }

  private static func sentence(_ limit: Limit, _ limits: PageLimits) -> String {
    switch limit {
    case .bytes: "larger than \(limits.bytes >> 20) MiB; the rest wasn't read"
    case .memory: "parsing takes too much memory; the rest wasn't read"
    case .attributes: "a tag has more than \(limits.attributes) attributes; the rest wasn't read"
    case .images: "more than \(limits.references) images; the rest are ignored"
    case .links: "more than \(limits.references) links; the rest are ignored"
    case .text: "the URLs exceed \(limits.textBytes >> 20) MiB in total; the rest are ignored"
    case .frames: "srcdoc documents are nested more than \(limits.frames) levels deep; the rest are ignored"
    }
  }
}
