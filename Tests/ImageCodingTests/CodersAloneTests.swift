import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("decoding and encoding bytes without a manager") struct CodersAloneTests {
  private let registry = ImageCoderRegistry.standard
  private let bytes = FixtureImage.named("profile.jpg").bytes

  @Test func `every kind of bytes gives the same image`() throws {
    let image = try registry.decode(bytes)
    #expect(image.header.format == .jpeg && image.pixels.size == image.header.displaySize)
    let slice = ([0, 0] + bytes + [0])[2..<2 + bytes.count]
    #expect(ImageFormat(of: slice) == .jpeg && ImageFormat(of: Data(bytes)) == .jpeg)
    #expect(ImageFormat(of: bytes.span.bytes) == .jpeg && ImageFormat(of: bytes.lazy.map { $0 }) == .jpeg)
    #expect(try registry.decode(slice) == image && registry.decode(Data(bytes)) == image)
    #expect(try registry.decode(bytes.span.bytes) == image && registry.decode(bytes.lazy.map { $0 }) == image)
    #expect(try registry.header(of: Data(bytes)) == image.header && registry.header(of: bytes.span.bytes) == image.header)
    #expect(try registry.proveDecodable(slice).header == image.header)
    #expect(try registry.proveDecodable(bytes.span.bytes).header == image.header)
  }

  @Test func `contiguous bytes aren't copied`() {
    bytes.withUnsafeBytes { raw in
      #expect(raw.withRawBytes { $0.baseAddress } == raw.baseAddress)
      #expect(raw.prefix(9).withRawBytes { $0.baseAddress } == raw.baseAddress)
    }
    let data = Data(bytes)
    data.withUnsafeBytes { raw in #expect(data.withRawBytes { $0.baseAddress } == raw.baseAddress) }
    let slice = bytes[5...]
    slice.withUnsafeBytes { raw in #expect(slice.withRawBytes { $0.baseAddress } == raw.baseAddress) }
  }

  @Test func `an encoded image decodes to the same pixels`() throws {
    let image = try registry.decode(bytes, options: DecodingOptions(thumbnail: ImageSize(width: 20, height: 20)))
    #expect(image.pixels.size.width == 20 || image.pixels.size.height == 20)
    let png = try registry.encode(image, as: .png)
    #expect(ImageFormat(of: png) == .png)
    #expect(try registry.decode(png).pixels == image.pixels)
  }

  @Test(
    arguments: [
      ("", "empty"), ("<!DOCTYPE html><html>", "an HTML page"), ("{\"a\": 1}", "JSON"),
      ("\u{0}\u{1}", "of no known image format"),
    ]
  )
  func `bytes that aren't an image are rejected with what they are`(text: String, kind: String) {
    let expected = ImageError(.notAnImage, "the file is \(kind)")
    #expect(ImageFormat(of: text.utf8) == nil)
    #expect(imageError { try registry.decode(text.utf8) } == expected)
    #expect(imageError { try registry.header(of: text.utf8) } == expected)
    #expect(imageError { try registry.proveDecodable(text.utf8) } == expected)
  }

  @Test func `a format without coder is unavailable`() {
    var registry = registry
    registry.remove(.jpeg)
    #expect(imageError { try registry.decode(bytes) } == ImageError(.unavailable, "no registered coder can decode jpeg images"))
  }

  @Test func `the beginning of a file asks for more bytes until it has the header`() throws {
    let markup = Array("<?xml version=\"1.0\"?>\n<!-- \(String(repeating: "-  ", count: 400))".utf8)
    for bytes in [bytes, markup] {
      for count in [0, 1, 5, bytes.count / 8] {
        let error = imageError { try registry.header(of: bytes[..<count], isComplete: false) }
        guard case .needsMoreBytes(let minimum) = error?.kind else {
          Issue.record("\(count) bytes: \(error?.message ?? "a header")")
          continue
        }
        #expect(minimum > count)
      }
    }
    #expect(try registry.header(of: bytes[..<(bytes.count - 1)], isComplete: false).format == .jpeg)
    let html = "<!DOCTYPE html><html>".utf8
    #expect(imageError { try registry.header(of: html, isComplete: false) }?.kind == .notAnImage)
  }

  @Test func `decoding shares the standard memory budget by default`() {
    let watching = ImageCoderRegistry([Watching()])
    #expect(imageError { try watching.decode(bytes) }?.message == "a stub for \(DecodingBudget.standard.bytes) bytes")
    #expect(imageError { try watching.proveDecodable(bytes) }?.message == "a stub for \(DecodingBudget.standard.bytes) bytes")
  }

  @Test(.timeLimit(.minutes(1))) func `a transformer that holds the budget may decode another image`() throws {
    let budget = DecodingBudget(bytes: 1000)
    let limits = DecodingLimits(budget: budget)
    let image = try budget.spending(1000) {
      let image = try registry.decode(bytes, limits: limits)
      #expect(budget.takenBytes == 1000)
      return image
    }
    #expect(budget.takenBytes == 0 && image.header.format == .jpeg)
    _ = try registry.decode(bytes, limits: limits)
    #expect(budget.takenBytes == 0)
  }

  /// Throws the size of the budget that it is given.
  private struct Watching: StubCoder {}
}
