import ImageCoding
import Base
import TestSupport
import Testing

@Suite("broken SVG images") struct BrokenSVGTests {
  @Test(
    arguments: [
      "cut.svg", "cut-tag.svg", "cut.svgz", "no-namespace.svg", "mismatched.svg", "garbage-behind.svg", "garbage-behind.svgz",
      "external-entity.svg", "parameter-entity.svg", "wrong-sum.svgz",
    ]
  )
  func `each broken SVG is undecodable with a message`(name: String) {
    let bytes = Fixtures.bytes("images/svg/broken/\(name)")
    let errors = [
      imageError { try SVG.prove(bytes) }, imageError { try SVG.header(bytes) }, imageError { try SVG.decode(bytes) },
    ]
    for error in errors {
      #expect(error?.kind == .undecodable)
      expectGolden(error?.message, for: name)
    }
  }

  @Test(
    arguments: [
      "<!DOCTYPE svg><html xmlns='http://www.w3.org/1999/xhtml'/>",
      "<svg xmlns='http://www.w3.org/2000/SVG'/>",
      "<x:svg xmlns:x='http://example.org'/>",
      "<SVG xmlns='http://www.w3.org/2000/svg'/>",
      "<svg:svg/>",
      "<?xml version='2.0'?><svg xmlns='http://www.w3.org/2000/svg'/>",
      "<?xml version='1.0' encoding='x-unknown'?><svg xmlns='http://www.w3.org/2000/svg'/>",
      "<?xml version='1.0' encoding='UTF-8//TRANSLIT'?><svg xmlns='http://www.w3.org/2000/svg'/>",
      "<svg xmlns='http://www.w3.org/2000/svg' width='0'/>",
      "<svg xmlns='http://www.w3.org/2000/svg' width='1' height='0px'/>",
      "<svg xmlns='http://www.w3.org/2000/svg'>&nbsp;</svg>",
      "<svg xmlns='http://www.w3.org/2000/svg'><a b='1' b='2'/></svg>",
    ]
  )
  func `documents of other kinds and with wrong roots are rejected`(text: String) {
    let error = imageError { try SVG.prove(text) }
    #expect(error?.kind == .undecodable)
    expectGolden(error?.message, for: text)
  }

  @Test func `other files aren't SVG`() {
    let pages = ["<!DOCTYPE html><svg xmlns='http://www.w3.org/2000/svg'/>", "", "text", "<?xml version='1.0'?><rss/>"]
    for bytes in pages.map({ Array($0.utf8) }) + [Fixtures.bytes("images/good/photo.jpg"), Array("text".utf8).gzipped] {
      #expect(imageError { try SVG.header(bytes) }?.kind == .notAnImage)
      #expect(imageError { try SVG.prove(bytes) }?.kind == .notAnImage)
    }
    #expect(imageError { try SVG.header(Fixtures.bytes("images/good/photo.jpg"), prefix: 512) }?.kind == .notAnImage)
  }

  @Test(arguments: SVGImage.all) func `truncated files are never good and have a message`(_ image: SVGImage) {
    let bytes = image.bytes
    // A line feed or so may follow the root element.
    let end = image.name.hasSuffix("z") ? bytes.count : bytes.lastIndex(of: UInt8(ascii: ">"))!
    for length in stride(from: 0, to: end, by: 7) {
      for error in [
        imageError { try SVG.prove(Array(bytes[..<length])) }, imageError { try SVG.header(Array(bytes[..<length])) },
      ] {
        #expect(error?.kind == .undecodable || error?.kind == .notAnImage, "\(length) bytes: \(error?.message ?? "good")")
        #expect(error?.message.isEmpty == false)
      }
    }
  }

  @Test(arguments: SVGImage.all) func `decoding and verifying agree on files with wrong bytes`(_ image: SVGImage) {
    var random = SeededRandom(seed: UInt64(image.bytes.count))
    let original = image.bytes
    for _ in 0..<500 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      }
      let proof = Result { try SVG.prove(bytes) }
      let header = Result { try SVG.header(bytes) }
      let decoding = imageError { try SVG.decode(bytes) }
      switch (proof, header) {
      case (.success(let proof), .success(let header)):
        #expect(proof.header == header)
        #expect(decoding?.kind == .unavailable)
      case (.failure(let left), .failure(let right)):
        #expect((left as? ImageError) == (right as? ImageError))
        #expect(decoding == left as? ImageError)
      default: Issue.record("\(proof), but \(header)")
      }
    }
  }
}
