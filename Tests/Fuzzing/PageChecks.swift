import Base
import Lists

/// Pages and stylesheets of any bytes: each URL must be in normal form and each line within the text, whatever the limits.
struct PageChecks {
  private static let url = try! BaseURL("https://www.example.com/a/b.html")
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  func runPage() {
    let whole = checkedPage(PageRules())
    var rules = PageRules()
    rules.limits.treeBytes = 1 << 16
    rules.limits.depth = 16
    rules.limits.attributes = 8
    let parts = checkedPage(rules)
    rules.limits.references = 4
    rules.limits.bytes = 4096
    rules.limits.textBytes = 4096
    let few = checkedPage(rules)
    demand(few.images.count <= 4 && few.links.count + few.stylesheets.count <= 4, "more references than the limit")
    if bytes.count < 512, !bytes.contains(UInt8(ascii: "<")) {
      demand(whole.images.isEmpty && parts.images.isEmpty, "images in a text without tags")
    }
  }

  func runStylesheet() {
    let document = PageDocument(stylesheet: bytes, contentType: nil, url: Self.url)
    check(document.images, document.text)
    for sheet in document.stylesheets { check(sheet.url, sheet.parts, sheet.line, document.text) }
  }

  private func checkedPage(_ rules: PageRules) -> PageDocument {
    let page = PageDocument(bytes, contentType: nil, url: Self.url, rules: rules)
    check(page.images, page.text)
    for link in page.links { check(link.url, link.parts, link.line, page.text) }
    for sheet in page.stylesheets { check(sheet.url, sheet.parts, sheet.line, page.text) }
    demand(page.remarks.warnings(of: "page").allSatisfy { $0.hasPrefix("page:") }, "a warning without the page's name")
    return page
  }

  private func check(_ images: [PageImage], _ text: [UInt8]) {
    for image in images where image.problem == nil { check(image.url, image.parts, image.line, text) }
    for image in images where image.problem != nil { demand(image.parts == .empty, "an invalid image with parts") }
  }

  private func check(_ range: Range<Int>, _ parts: URLParts, _ line: UInt64, _ text: [UInt8]) {
    let known = text[range].withRawBytes { URLNormalizer.parts(ofNormalForm: $0) }
    demand(known == parts, "'\(String(decoding: text[range], as: UTF8.self))' isn't in normal form")
    // UTF-16 has fewer line breaks than bytes, too.
    demand(line >= 1 && line <= UInt64(bytes.count) + 1, "line \(line) of \(bytes.count) bytes")
  }
}

extension PageChecks {
  /// Pages with most of the elements and encodings that matter, and attacks on the parser.
  static var pageSeeds: [[UInt8]] {
    let texts = [
      "<base href=/x/><link rel='icon' href=a.ico><link rel=stylesheet href=a.css><meta property=og:image content=b.png>",
      "<picture><source srcset='a.webp 1x, b.webp 2x' media=print><img src=c.jpg srcset='d 640w, e 1280w 720h' sizes=auto></picture>",
      "<script type=application/ld+json>{\"@type\":\"ImageObject\",\"contentUrl\":[\"a\\u002e\",{\"image\":\"b\"}]}</script>",
      "<table background=a><tr><td style='background:url(b)'><video poster=c><svg><image xlink:href=d /><style>e{f:url(g)}</style></svg>",
      "<iframe srcdoc='<img src=&quot;a&quot;>'></iframe><noscript><img data-src=b></noscript><template><img src=c></template>",
      "<meta http-equiv=refresh content='0;url=a'><a rel=nofollow href='\\b\tc'><frameset><frame src=d></frameset>",
      "<meta charset=shift_jis><img src=\u{93}\u{fa}>", "<b><p><i></b></p><a><table><a><b>x</table></a>",
    ]
    return texts.map { Array($0.utf8) } + [
      texts.joined().utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }, Array(texts.joined().utf8),
    ]
  }

  static var stylesheetSeeds: [[UInt8]] {
    let texts = [
      "@charset \"utf-8\"; @import url(a.css) layer(x); @import 'b.css' print; @media x { a:b { c: url( d ) } }",
      "@font-face { src: url(a) } a { b: image-set('c' 1x, url(d) 2dppx type('image/avif')); e: url('\\66\n') } /* f */",
      "a { b: url(c\\)d) ; --x: { y: url(z) } } @namespace url(x); <!-- a { b: url(c d) } --> #url(a) 1e3x",
    ]
    return texts.map { Array($0.utf8) }
  }
}
