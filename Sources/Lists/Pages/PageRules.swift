/// The rules by which a page's images are found.
package struct PageRules: Sendable, Hashable {
  package static let usualLazyAttributes = [
    "data-src", "data-lazy-src", "data-original", "data-srcset", "data-lazy-srcset", "data-bg", "data-background",
    "data-background-image", "data-bgset",
  ]

  /// Attributes of images, or of elements with a background, with the URL that a script loads later.
  package var lazyAttributes: [String]
  /// The same with several URLs, written like `srcset`.
  package var lazySourceSets: [String]
  package var limits = PageLimits()

  /// Creates rules with attributes, of which those that end in `srcset` or `bgset` are read like it.
  package init(lazyAttributes names: [String] = PageRules.usualLazyAttributes) {
    // The parser writes names in lower case.
    let names = names.map { $0.lowercased() }
    let isSet = { (name: String) in name.hasSuffix("srcset") || name.hasSuffix("bgset") }
    lazyAttributes = names.filter { !isSet($0) }
    lazySourceSets = names.filter(isSet)
  }
}

/// The maximum sizes of a page. A page beyond them is read as far as they allow, with a remark.
package struct PageLimits: Sendable, Hashable {
  /// The bytes of a page or stylesheet that are read.
  package var bytes = 16 << 20
  /// The memory of the tree at any time. gumbo uses about 16 times a usual page's size, and at most 75 times. A larger page is
  /// parsed in parts.
  package var treeBytes = 64 << 20
  /// The maximum memory of all trees of a page together, which bounds the time: a few bytes can open hundreds of elements again.
  package var totalTreeBytes = 1 << 30
  /// The number of nested elements, as in Chromium. Each tag takes time by the number of open elements.
  package var depth = 512
  /// The number of attributes of a tag, which gumbo compares with each other.
  package var attributes = 512
  /// The number of images, and that of links and stylesheets together.
  package var references = 100_000
  /// The length of all URLs: a long base makes each of them long.
  package var textBytes = 32 << 20
  /// The length of a JSON text.
  package var jsonBytes = 1 << 20
  /// The number of nested `srcdoc` documents.
  package var frames = 4

  package init() {}

  /// ``totalTreeBytes`` for a page of that size, since a small page needs less: repeated tags took up to 128 times the page's size, parts
  /// that are parsed twice included, and four different elements that each `p` opens again 301 times.
  func totalTreeBytes(of pageBytes: Int) -> Int { min(totalTreeBytes, max(treeBytes, 400 * pageBytes)) }
}

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

  /// Says that the first limit was exceeded; nil if there is none.
  var loss: InputError? { exceeded.first.map { InputError(Self.sentence($0.limit, PageLimits()), line: $0.line) } }

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
