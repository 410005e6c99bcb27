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
  /// The memory of all trees of a page together, which bounds the time: a few bytes can open hundreds of elements again.
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
}
