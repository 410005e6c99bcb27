import ImagePrimitives
import TestSupport
import Testing

@Suite("content found at an image's URL") struct ContentSniffTests {
  @Test(
    "known content is named",
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
  func isCalledByItsName(body: String, kind: ContentSniff) {
    #expect(Array(body.utf8).withUnsafeBytes { ContentSniff(prefix: $0) } == kind)
  }

  @Test("UTF-16 text is text") func textOfTwoBytesALetterIsText() {
    let bytes: [UInt8] = [0xFF, 0xFE] + "<html>".utf16.flatMap { [UInt8($0), 0] }
    #expect(bytes.withUnsafeBytes { ContentSniff(prefix: $0) } == .text)
  }

  @Test("only binary data can become an image") func onlyBinaryDataCanBecomeAnImage() {
    let kinds: [ContentSniff] = [.image(.png), .unknown, .html, .xml, .json, .text, .empty]
    #expect(kinds.map(\.canBeImage) == [true, true, false, false, false, false, false])
  }

  @Test(
    "broken fixtures are recognised",
    arguments: [
      ("page.jpg", .html), ("text.png", .text), ("empty.jpg", .empty), ("gif-inside.jpg", .image(.gif)),
      ("huge.png", .image(.png)),
    ] as [(String, ContentSniff)]
  )
  func brokenFixtures(name: String, kind: ContentSniff) {
    #expect(Fixtures.bytes("images/broken/\(name)").withUnsafeBytes { ContentSniff(prefix: $0) } == kind)
  }
}
