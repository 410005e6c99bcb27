import Base
import TestSupport
import Testing

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
