import Base
import Foundation
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

@Suite("declared content types and detected formats") struct ContentTypeMatchTests {
  @Test(
    arguments: [
      ("image/jpeg", .jpeg, .exact),
      ("IMAGE/JPEG", .jpeg, .exact),
      (" image/jpeg ; charset=binary", .jpeg, .exact),
      ("image/png, image/png", .png, .exact),
      ("image/svg+xml;charset=utf-8", .svg, .exact),
      ("image/jpg", .jpeg, .alias),
      ("image/pjpeg", .jpeg, .alias),
      ("Image/X-PNG", .png, .alias),
      ("image/x-icon", .ico, .exact),
      ("image/x-win-bitmap", .ico, .alias),
      ("application/svg+xml", .svg, .alias),
      ("text/xml; charset=utf-8", .svg, .generic),
      ("application/xml", .svg, .generic),
      ("application/xml", .png, .mismatch),
      ("text/plain", .svg, .mismatch),
      ("application/octet-stream", .webp, .generic),
      ("binary/octet-stream; x=y", .png, .generic),
      ("unknown/unknown", .png, .generic), ("application/unknown", .webp, .generic), ("*/*", .gif, .generic),
      ("image/*;q=0.8", .jpeg, .generic), ("Application/X-Unknown", .avif, .generic), ("content/unknown", .png, .generic),
      ("application/x-octet-stream", .png, .generic), ("application/octetstream", .png, .generic),
      ("application/force-download", .jpeg, .generic), ("application/x-download", .jpeg, .generic),
      ("application/binary", .jpeg, .generic), ("image/unknown", .svg, .generic),
      // These aren't types, and so unknown.
      ("image", .jpeg, .generic), ("jpg", .jpeg, .generic), ("image/", .jpeg, .generic), ("/png", .png, .generic),
      ("\"image/png\"", .png, .generic), ("undefined", .png, .generic), ("image/p ng", .png, .generic),
      ("image/jpeg, */*", .jpeg, .exact), ("unknown/unknown, image/png", .png, .exact), ("text/html, image/png", .png, .exact),
      ("image/png, text/html", .png, .mismatch), (", image/png,", .png, .exact),
      ("text/plain", .png, .mismatch), ("application/unknownx", .png, .mismatch), ("application/zip", .png, .mismatch),
      (nil, .png, .absent),
      ("", .png, .absent),
      ("  ;charset=utf-8", .png, .absent),
      ("image/png", .jpeg, .mismatch),
      ("image/jpg", .png, .mismatch),
      ("text/html", .jpeg, .mismatch),
      ("image/jpegs", .jpeg, .mismatch),
      ("image/jpe", .jpeg, .mismatch),
    ] as [(String?, ImageFormat, ContentTypeMatch)]
  )
  func `each declared type is compared with the detected format`(declared: String?, format: ImageFormat, match: ContentTypeMatch)
  {
    #expect(ContentTypeMatch(declared: declared, format: format) == match)
  }
}

@Suite("format detection") struct ImageFormatDetectionTests {
  private static func box(_ major: String, _ compatible: String...) -> [UInt8] {
    let body = Array("ftyp\(major)\0\0\0\0\(compatible.joined())".utf8)
    return [0, 0, 0, UInt8(body.count + 4)] + body
  }

  @Test(
    arguments: [
      ([0xFF, 0xD8, 0xFF, 0xE0], .jpeg),
      ([0x89] + Array("PNG\r\n\u{1A}\n".utf8), .png),
      (Array("GIF87a".utf8), .gif),
      (Array("GIF89a".utf8), .gif),
      (Array("RIFF\u{1}\u{2}\u{3}\u{4}WEBP".utf8), .webp),
      (box("avif", "avif", "mif1"), .avif),
      (box("avis"), .avif),
      (box("mif1", "miaf", "avif"), .avif),
      (box("heic", "mif1"), .heic),
      (box("hevc"), .heic),
      (box("mif1", "heic"), .heic),
      (Array("II*\0".utf8), .tiff),
      (Array("MM\0*".utf8), .tiff),
      (Array("BM".utf8) + [1, 2, 3, 4, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0], .bmp),
      ([0, 0, 1, 0, 1, 0, 16, 16, 0, 0, 1, 0], .ico),
      ([0, 0, 2, 0, 1, 0, 16, 16, 0, 255, 1, 0], .ico),
      ([0xFF, 0x0A, 0], .jpegXL),
      ([0, 0, 0, 12] + Array("JXL ".utf8) + [0x0D, 0x0A, 0x87, 0x0A], .jpegXL),
      (Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), .svg),
      (Array("\u{FEFF}<?xml version='1.0'?>\n<!-- a drawing -->\n<!DOCTYPE svg PUBLIC".utf8), .svg),
      (Array("<?xml version='1.0'?><?xml-stylesheet href='a.css'?><svg:svg".utf8), .svg),
      (Array("<s:svg xmlns:s='http://www.w3.org/2000/svg'/>".utf8), .svg),
      (Array("<!DOCTYPE\n svg:svg>".utf8), .svg),
      (Array("<!DOCTYPE x [ <!ENTITY a ']>'> <!-- ' --> <?p '?> ]>\n<svg>".utf8), .svg),
      (Array(("<!--" + String(repeating: "-  ", count: 340_000) + "--><svg>").utf8), .svg),
      ([0xFF, 0xFE] + "<?xml version='1.0'?><!-- ж --><svg>".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }, .svg),
      ([0xFE, 0xFF] + "<svg>".utf16.flatMap { [0, UInt8($0)] }, .svg),
      ("<svg>".utf16.flatMap { [0, UInt8($0)] }, .svg),
      (Fixtures.bytes("images/svg/compressed.svgz"), .svg),
    ] as [([UInt8], ImageFormat)]
  )
  func `each format is recognised`(bytes: [UInt8], format: ImageFormat) {
    #expect(ImageFormat(of: bytes) == format)
    #expect(bytes.withUnsafeBytes { ContentSniff(prefix: $0) } == .image(format))
  }

  @Test(
    arguments: [
      [], [0xFF], [0xFF, 0xD8], Array("BMW is a car maker, and this is a text".utf8), Array("RIFF\0\0\0\0WAVE".utf8),
      box("isom", "mp42"), Array("GIF".utf8), [0, 0, 1, 0, 0, 0, 0, 0, 0, 0], Array("<html><svg>".utf8),
      Array("II am a text".utf8), Array("<svgs>".utf8), Array("<a:b:svg>".utf8), Array("<:svg>".utf8),
      Array("<!DOCTYPE x><html>".utf8), Array("<!-- <svg> ".utf8), [0x1F, 0x8B], [0x1F, 0x8B, 8] + Array("<svg>".utf8),
      Array(("<!--" + String(repeating: "-  ", count: 350_000) + "--><svg>").utf8),
    ] as [[UInt8]]
  )
  func `other data has no format`(bytes: [UInt8]) {
    #expect(ImageFormat(of: bytes) == nil)
  }

  @Test(
    arguments: [
      ("photo.jpg", .jpeg), ("rgba.png", .png), ("lossy.webp", .webp), ("animated.webp", .webp), ("animation.gif", .gif),
    ] as [(String, ImageFormat)]
  )
  func `files of real encoders are recognised`(name: String, format: ImageFormat) {
    #expect(ImageFormat(of: Fixtures.bytes("images/good/\(name)")) == format)
  }

  @Test func `every prefix is read within its bounds`() {
    for name in [
      "good/photo.jpg", "good/rgba.png", "good/lossy.webp", "good/animation.gif", "broken/page.jpg", "broken/text.png",
      "svg/illustrator.svg", "svg/utf-16.svg", "svg/compressed.svgz",
    ] {
      let bytes = Fixtures.bytes("images/\(name)").prefix(64)
      for length in 0...bytes.count {
        // A copy of exactly that length, so that a read beyond its end is also beyond the allocation.
        _ = Array(bytes.prefix(length)).withUnsafeBytes { ContentSniff(prefix: $0) }
      }
    }
  }
}

/// Detection of image ends.
struct ImageEndTests {
  private func verdict(_ bytes: some Collection<UInt8>, pieces: Int = .max) -> ImageEnd.Verdict {
    var end = ImageEnd()
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let piece = rest.prefix(pieces)
      piece.withUnsafeBytes { end.add($0) }
      rest = rest.dropFirst(piece.count)
    }
    return end.verdict()
  }

  @Test func `complete images of all formats have reached their end, and no prefix of them has`() throws {
    var counts: [ImageFormat: Int] = [:]
    let names = try ["images/good", "images/avif"].flatMap { folder in
      try FileManager.default.contentsOfDirectory(atPath: Fixtures.path(folder)).sorted().map { "\(folder)/\($0)" }
    }
    for name in names where name.contains(".") {
      let bytes = Fixtures.bytes(name)
      guard let format = ImageFormat(of: bytes) else { continue }
      counts[format, default: 0] += 1
      #expect(verdict(bytes) == .reached, "\(name)")
      #expect(verdict(bytes, pieces: 7) == .reached, "\(name)")
      #expect(verdict(bytes + [1, 2, 3]) == .reached || format == .avif, "\(name)")
      for part in 1..<200 {
        let count = max(12, bytes.count * part / 200)
        if count < bytes.count { #expect(verdict(bytes[..<count]) == .missing, "\(name), \(count) of \(bytes.count) bytes") }
      }
      #expect(verdict(bytes.dropLast()) == .missing, "\(name)")
    }
    print("ends of images: \(counts.map { "\($0.key.name) \($0.value)" }.sorted())")
    #expect(Set(counts.keys).isSuperset(of: [.jpeg, .png, .gif, .webp, .avif]))
  }

  @Test func `a JPEG ends at its own end, not at its thumbnail's`() {
    let inner = SampleImages.baseJPEG
    let length = inner.count + 2
    let whole = inner[..<2] + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + inner + inner[2...]
    #expect(verdict(whole) == .reached)
    #expect(verdict(whole.prefix(4 + length)) == .missing)
  }

  @Test func `text counts as complete, and some formats don't mark their end`() {
    #expect(verdict(Array("<html>".utf8)) == .reached)
    #expect(verdict(Array("<svg xmlns='x'><g/></svg>\n".utf8)) == .reached)
    #expect(verdict(Array("<svg xmlns='x'><g/>".utf8)) == .unknowable)
    let commented = Array("<!--\(String(repeating: " ", count: 5000))--><svg xmlns='x'><g/>".utf8)
    #expect(verdict(commented) == .unknowable)
    #expect(verdict(commented, pieces: 100) == .unknowable)
    #expect(verdict(commented + Array("</svg>".utf8), pieces: 100) == .reached)
    #expect(verdict(commented.prefix(3000)) == .unknowable)
    #expect(verdict(Fixtures.bytes("images/svg/compressed.svgz")) == .unknowable)
    #expect(verdict([UInt8]()) == .unknowable)
    #expect(verdict([1, 2, 3] as [UInt8]) == .unknowable)
    #expect(verdict(Array("II*\0".utf8) + [UInt8](repeating: 0, count: 600)) == .unknowable)
  }

  @Test(arguments: 0..<20) func `random bytes never make it hang or crash`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let beginnings: [[UInt8]] = [
      [0xFF, 0xD8, 0xFF], Array("GIF89a".utf8), [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10],
      Array("RIFF\u{0}\u{0}\u{0}\u{0}WEBP".utf8),
      [0, 0, 0, 24] + Array("ftypavif".utf8), [0, 0, 0, 1] + Array("ftypavif".utf8) + [UInt8](repeating: 0xFF, count: 8),
    ]
    for beginning in beginnings {
      let noise = (0..<3000).map { _ in UInt8.random(in: 0...255, using: &random) }
      _ = verdict(beginning + noise, pieces: Int.random(in: 1...100, using: &random))
    }
  }
}
