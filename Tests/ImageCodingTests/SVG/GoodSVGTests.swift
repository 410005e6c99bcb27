import ImageCoding
import Base
import TestSupport
import Testing

@Suite("good SVG images") struct GoodSVGTests {
  @Test func `the text of a compressed file is limited`() {
    let text = Array(SVG.document(String(repeating: "<g/>", count: 1000)).utf8)
    for file in [text, text.gzipped] {
      file.withUnsafeBytes { file in
        #expect(SVGCoder.text(file, maximumBytes: text.count) == text)
        #expect(SVGCoder.text(file, maximumBytes: text.count - 1) == nil)
      }
    }
    Array(text.gzipped.dropLast(20)).withUnsafeBytes { #expect(SVGCoder.text($0, maximumBytes: text.count) == nil) }
  }

  @Test func `the root element may follow long comments, compressed or not`() throws {
    let document = SVG.document(attributes: "width='20' height='10'")
    for length in [30_000, 300_000] {
      let comment = (0..<length / 8).map { "\($0 + 1_000_000) " }.joined()
      let text = "<?xml version='1.0'?>\n<!-- \(comment) -->\n\(document)"
      for bytes in [Array(text.utf8), Array(text.utf8).gzipped] {
        #expect(try SVG.header(bytes).size == ImageSize(width: 20, height: 10))
        #expect(try SVG.prove(bytes).warnings == [])
        guard case .needsMoreBytes? = imageError({ try Standard.header(bytes, prefix: 4096) })?.kind else {
          Issue.record("a beginning suffices")
          return
        }
      }
    }
  }

  @Test(arguments: SVGImage.all)
  func `each good SVG is verified without warnings and has the size that librsvg draws`(_ image: SVGImage) throws {
    let proof = try SVG.prove(image.bytes)
    #expect(proof.header == ImageHeader(format: .svg, size: image.size, hasAlpha: true))
    #expect(proof.header.frames == 1 && !proof.header.isAnimated)
    #expect(proof.warnings == [])
    #expect(try SVG.header(image.bytes) == proof.header)
    #expect(try Standard.coder(for: image.bytes) is SVGCoder)
  }

  @Test(arguments: SVGImage.all)
  func `a header says that it needs more bytes until the root element's start tag is complete`(_ image: SVGImage) throws {
    let bytes = image.bytes
    let whole = try SVG.header(bytes)
    var length = 0
    while true {
      do {
        #expect(try SVG.header(bytes, prefix: length) == whole)
        return
      } catch let error as ImageError {
        guard case .needsMoreBytes(let minimum) = error.kind else {
          // Too short to detect the format.
          try #require(error.kind == .notAnImage && length < 3)
          length += 1
          continue
        }
        try #require(minimum == length + 1 && minimum <= bytes.count)
        length = minimum
      }
    }
  }

  @Test func `an SVG isn't decoded to pixels`() {
    #expect(!SVGCoder().decodesPixels && PNGCoder().decodesPixels)
    let error = imageError { try SVG.decode(SVGImage.named("minimal.svg").bytes) }
    #expect(error?.kind == .unavailable)
    expectGolden(error?.message)
    #expect(imageError { try SVG.decode(Fixtures.bytes("images/svg/broken/cut.svg")) }?.kind == .undecodable)
  }

  @Test(
    arguments: ["utf-8", "UTF8", "us-ascii", "ISO-8859-15", "windows-1251", "koi8-r", "Shift_JIS", "GBK", "EUC-KR", "Big5"]
  )
  func `encodings are those of the byte order mark, the declaration, or UTF-8`(name: String) throws {
    let text = "<?xml version=\"1.0\" encoding='\(name)'?>\(SVG.document("<text>\u{7E}</text>"))"
    #expect(try SVG.prove(text).warnings == [])
  }

  @Test func `two-byte characters are read`() throws {
    let start = Array("<?xml version='1.0' encoding='Shift_JIS'?><svg xmlns='http://www.w3.org/2000/svg'><text>".utf8)
    let end = Array("</text></svg>".utf8)
    // 表 ends with a backslash's code.
    _ = try SVG.prove(start + [0x95, 0x5C] + end)
    for bytes: [UInt8] in [[0x95], [0xFF]] {
      #expect(imageError { try SVG.prove(start + bytes + end) }?.kind == .undecodable)
    }
    let utf8 = Array("<?xml version='1.0' encoding=\"utf8\"?><svg xmlns='http://www.w3.org/2000/svg'><text>😀</text></svg>".utf8)
    _ = try SVG.prove(utf8)
  }

  @Test func `a compressed SVG may have several members`() throws {
    let text = Array(SVG.document(attributes: "width='3' height='2'").utf8)
    let bytes = Array(text[..<60]).gzipped + Array(text[60...]).gzipped
    #expect(try SVG.prove(bytes).header.size == ImageSize(width: 3, height: 2))
  }

  @Test func `a million elements and a 20 MB attribute are verified quickly`() throws {
    let clock = ContinuousClock()
    let many = SVG.document(String(repeating: "<g id='a'/>\n", count: 1_000_000))
    let long = SVG.document("<path d='\(String(repeating: "M0 0h1", count: 20_000_000 / 6))'/>")
    for text in [many, long] {
      let start = clock.now
      #expect(try SVG.prove(text).warnings == [])
      let time = clock.now - start
      #expect(time < .seconds(20), "\(time)")
    }
    let compressed = Array(long.utf8).gzipped
    #expect(imageError { try SVG.prove(compressed) }?.message.contains("200-fold") == true)
  }
}
