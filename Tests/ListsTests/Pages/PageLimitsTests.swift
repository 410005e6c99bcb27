import Foundation
import Lists
import TestSupport
import Testing

@Suite struct PageLimitsTests {
  /// Calls `body` on a thread with a small stack, as the command's threads may have.
  private func onSmallStack<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: body()) }
      thread.stackSize = 512 << 10
      thread.start()
    }
  }

  private static let image = "<img src=last.png>"

  @Test(arguments: [
    "<div>", "<b>", "<a>", "<font>", "<table>", "<span>", "<p>", "<ul>", "<button>", "<svg>", "<math><mi>", "<object>",
    "<div><table><td><b>", "<b><p></b>", "<a><p>", "<table><b>", "<table><b>x", "<li>x", "<select><option>", "</p>", "<dl><dd>",
    "<ruby><rt>", "<i><div></i>", "<nobr>", "<b></div><div>x",
  ])
  func `a page of nested tags ends with its last image`(tags: String) async {
    let result = await onSmallStack { page(String(repeating: tags, count: (256 << 10) / tags.utf8.count) + Self.image) }
    #expect(result.urls == ["/news/last.png"])
    #expect(result.remarks.exceeded.isEmpty)
  }

  @Test func `nested templates and frames hide their images without overflowing the stack`() async {
    for tags in ["<template>", "<frameset>", "<noscript><style>", "<!--", "<script>"] {
      _ = await onSmallStack { page(String(repeating: tags, count: 50_000) + Self.image) }
    }
  }

  @Test func `different formatting elements that are opened again and again end in a limit, even in a small page`() async {
    let open = (0..<400).map { "<i a\($0)>" }.joined()
    for again in ["</div><div>x", "<p>x"] {
      let text = String(repeating: open + String(repeating: again, count: 400), count: 15)
      let result = await onSmallStack { page(Self.image + text) }
      #expect(result.urls == ["/news/last.png"])
      #expect(result.remarks.exceeded.map(\.limit) == [.memory])
    }
  }

  @Test func `a tag with many attributes ends the page`() {
    let attributes = (0..<200_000).map { " a\($0)" }.joined()
    let result = page("\(Self.image)\n<p \(attributes)>\n<img src=no.png>")
    #expect(result.urls == ["/news/last.png"])
    #expect(result.remarks.exceeded.map(\.limit) == [.attributes])
    let few = (0..<500).map { " a\($0)" }.joined()
    #expect(page("<p \(few)>\(Self.image)").urls == ["/news/last.png"])
  }

  @Test func `long attributes and texts are read`() {
    let long = String(repeating: "x", count: 4 << 20)
    for text in [
      "<a href='\(long)'>", "<p>\(long)</p>", "<p style='\(long)'>", "<!--\(long)-->", "<\(long)>", "<style>\(long)</style>",
    ] {
      let result = page(text + Self.image)
      #expect(result.urls == ["/news/last.png"])
      #expect(result.remarks.exceeded.isEmpty)
    }
    #expect(page("<img src='\(long)'>").images.map { $0.problem != nil } == [true])
  }

  @Test func `pages beyond a limit are read as far as it allows`() {
    var rules = PageRules()
    rules.limits.bytes = 1 << 20
    rules.limits.references = 3
    rules.limits.textBytes = 200
    rules.limits.treeBytes = 1 << 20
    let padding = "<p>" + String(repeating: " ", count: 1 << 20)
    #expect(page("<img src=a>\n\(padding)\n<img src=b>", rules).urls == ["/news/a"])
    let images = page((1...5).map { "<img src=\($0)>" }.joined(), rules)
    #expect(images.urls == ["/news/1", "/news/2", "/news/3"])
    let links = page((1...5).map { "<a href=\($0)></a>" }.joined(), rules)
    #expect(links.linkURLs == ["/news/1", "/news/2", "/news/3"])
    let long = page("<base href=/\(String(repeating: "x", count: 199))/><img src=1><img src=2>", rules)
    #expect(long.images.count == 1)
    var memory = rules
    memory.limits.totalTreeBytes = 256 << 10
    let large = page("<img src=a>" + String(repeating: "<p>x\n", count: 10_000) + "<img src=b>", memory)
    #expect(large.urls == ["/news/a"])
    let frame = (0..<6).reduce("<img src=deep>") { text, _ in
      "<iframe srcdoc=\"\(text.replacing("&", with: "&amp;").replacing("\"", with: "&quot;"))\"></iframe>"
    }
    let documents = page(frame)
    for (document, limit) in [
      (images, PageRemarks.Limit.images), (links, .links), (long, .text), (large, .memory), (documents, .frames),
    ] {
      #expect(document.remarks.exceeded.map(\.limit) == [limit])
      expectGolden(document.remarks.warnings(of: "page", limits: rules.limits).joined(separator: "\n"))
    }
  }

  @Test func `many srcdoc documents end in a limit`() {
    var rules = PageRules()
    rules.limits.totalTreeBytes = 1 << 20
    let few = page(Self.image + String(repeating: "<iframe srcdoc='<img src=x>'></iframe>", count: 100), rules)
    #expect(few.images.count == 101 && few.remarks.exceeded.isEmpty)
    let many = page(Self.image + String(repeating: "<iframe srcdoc=x></iframe>", count: 1000), rules)
    #expect(many.urls == ["/news/last.png"])
    #expect(many.remarks.exceeded.map(\.limit) == [.memory])
  }

  @Test func `a page in parts has the lines and the base of the whole`() {
    var rules = PageRules()
    rules.limits.treeBytes = 256 << 10
    let text = "<base href=/base/>\n" + (2...5000).map { "<p><img src=\($0)></p>\n" }.joined()
    let result = page(text, rules)
    #expect(result.urls == (2...5000).map { "/base/\($0)" })
    #expect(result.lines == (2...5000).map { UInt64($0) })
    #expect(result.remarks.exceeded.isEmpty)
  }

  @Test func `skipped parts are reported once per page`() {
    let text = "<img srcset='a y, b z'>\n<script type=application/ld+json>{</script><a href='https://a:b'>"
    let deep = page(String(repeating: "<div>\n", count: 600) + text)
    expectGolden(deep.remarks.warnings(of: "https://a.com/").joined(separator: "\n"))
    var rules = PageRules()
    rules.limits.bytes = 1 << 20
    let long = page("<p \((0..<600).map { " a\($0)" }.joined())>" + String(repeating: "\n", count: 1 << 20), rules)
    expectGolden(long.remarks.warnings(of: "page", limits: rules.limits).joined(separator: "\n"))
  }
}
