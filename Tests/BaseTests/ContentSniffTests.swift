import Base
import TestSupport
import Testing

@Suite("content found at an image's URL") struct ContentSniffTests {
  @Test(
    arguments: [
      ("", .empty),
      ("<!DOCTYPE html><html>", .html),
      ("\n\n  <!doctype HTML>", .html),
      ("<HTML lang=en>", .html),
      ("<!-- generated --><head>", .html),
      ("<h1>Not found</h1>", .html),
      ("<p>gone", .html),
      ("<?xml version='1.0' encoding='UTF-8'?><html xmlns='http://www.w3.org/1999/xhtml'>", .html),
      ("<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", .xml),
      ("{\"error\": \"not found\"}", .json),
      ("[1, 2]", .json),
      ("{}", .json),
      ("{not json}", .text),
      ("temporarily unavailable\n", .text),
      ("ж", .text),
      ("\u{1}\u{2}\u{3}", .unknown),
    ] as [(String, ContentSniff)]
  )
  func `known content is named`(body: String, kind: ContentSniff) {
    #expect(Array(body.utf8).withUnsafeBytes { ContentSniff(prefix: $0) } == kind)
  }

  @Test(
    arguments: [
      "\n", "<", "<sv", "<!-- a", "<?xml version='1.0'?>", "<?xml versio", "<!DOCTYPE", "<!DOCTYPE x [ <!ENTITY a '>'>",
      "<!-- a -->\n",
    ]
  )
  func `markup without an element so far needs more bytes`(start: String) {
    let bytes = Array(start.utf8)
    #expect(bytes.withUnsafeBytes { ContentSniff.bytesNeeded(after: $0) } == 16 << 10)
    let spaces = [UInt8](repeating: UInt8(ascii: " "), count: 30_000)
    #expect((spaces + bytes).withUnsafeBytes { ContentSniff.bytesNeeded(after: $0) } == 2 * (30_000 + bytes.count))
    let many = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
    #expect((many + bytes).withUnsafeBytes { ContentSniff.bytesNeeded(after: $0) } == nil)
  }

  @Test(
    arguments: [
      "<svg ", "<html>", "<!DOCTYPE html>", "<?xml version='1.0'?><rss>", "text", "{\"a\":", "<!-- a --><p>", "\u{1}\u{2}",
      "GIF89a", "<!DOCTYPE svg [",
    ]
  )
  func `other bodies need no more bytes`(start: String) {
    #expect(Array(start.utf8).withUnsafeBytes { ContentSniff.bytesNeeded(after: $0) } == nil)
  }

  @Test func `a compressed SVG needs bytes until its root element can be read`() {
    let bytes = Fixtures.bytes("images/svg/compressed.svgz")
    let first = (0..<bytes.count).first { count in ImageFormat(of: bytes[..<count]) == .svg }
    #expect((30..<400).contains(first ?? 0))
    for count in 2..<(first ?? 0) {
      #expect(bytes[..<count].withUnsafeBytes { ContentSniff.bytesNeeded(after: $0) } != nil)
    }
  }

  @Test func `UTF-16 text is text`() {
    let bytes: [UInt8] = [0xFF, 0xFE] + "<html>".utf16.flatMap { [UInt8($0), 0] }
    #expect(bytes.withUnsafeBytes { ContentSniff(prefix: $0) } == .text)
  }

  @Test func `only binary data can become an image`() {
    let kinds: [ContentSniff] = [.image(.png), .unknown, .html, .xml, .json, .text, .empty]
    #expect(kinds.map(\.canBeImage) == [true, true, false, false, false, false, false])
  }

  @Test(
    arguments: [
      ("page.jpg", .html), ("text.png", .text), ("empty.jpg", .empty), ("gif-inside.jpg", .image(.gif)),
      ("huge.png", .image(.png)),
    ] as [(String, ContentSniff)]
  )
  func `broken fixtures are recognised`(name: String, kind: ContentSniff) {
    #expect(Fixtures.bytes("images/broken/\(name)").withUnsafeBytes { ContentSniff(prefix: $0) } == kind)
  }

  @Test(
    arguments: [
      ("\n", "a line break"), ("\r\n\n", "line breaks"), (" \t\n", "white space"), ("\u{FEFF}", "a byte order mark"),
      ("<br />\n<b>Warning</b>:  Undefined variable $a in <b>/srv/a.php</b> on line <b>3</b><br />\n", "HTML"),
      ("<!-- cached -->\n", "text"), ("Notice: Undefined index: w in /srv/a.php on line 3\n", "text"),
      ("\u{0}\u{0}", "binary data"), (String(repeating: "Deprecated: a\n", count: 900), "text"),
    ]
  )
  func `an image after other bytes is found`(before: String, kind: String) throws {
    let files = ["good/photo.jpg", "good/rgb.png", "good/still.gif", "good/lossy.webp", "svg/illustrator.svg", "tiff/pages.tif"]
    for file in files {
      let bytes = Array(before.utf8) + Fixtures.bytes("images/\(file)")
      // White space and comments may precede an SVG, but not its XML declaration.
      if ImageFormat(of: bytes) == .svg { continue }
      let image = bytes.withUnsafeBytes { LateImage(in: $0) }
      #expect(image?.offset == before.utf8.count && image?.before == kind, "\(file)")
      #expect(image?.format == ImageFormat(of: Fixtures.bytes("images/\(file)")))
    }
  }

  @Test func `images in other files are no late images, nor are those far behind`() {
    let jpeg = Fixtures.bytes("images/good/photo.jpg")
    let others: [[UInt8]] = [
      [], [0xFF], Array("%PDF-1.4\n".utf8) + jpeg, (0..<600).map { UInt8($0 % 8) } + jpeg,
      Array("<html><svg></svg>".utf8), [UInt8](repeating: 0x20, count: 16 << 10) + jpeg, Array("a<!-- ÿØ GIF8 RIFF -->".utf8),
    ]
    for bytes in others { #expect(bytes.withUnsafeBytes { LateImage(in: $0) } == nil) }
  }
}
