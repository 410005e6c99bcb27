import Testing

@testable import ImageDownloading

/// The lines of a response's head.
struct ResponseFieldsTests {
  private func fields(_ lines: String...) -> ResponseFields {
    var fields = ResponseFields()
    for line in lines { Array((line + "\r\n").utf8).withUnsafeBytes { fields.add($0) } }
    return fields
  }

  @Test func `header names are case-insensitive, and white space around values is ignored`() {
    let fields = fields(
      "HTTP/1.1 200 OK",
      "ETAG:\"a\"",
      "content-TYPE: \t image/png \t",
      "Vary:",
      "Expiresx: 1",
      "Etagged: 2",
      ""
    )
    #expect(fields.last(.etag) == "\"a\"")
    #expect(fields.last(.contentType) == "image/png")
    #expect(fields.last(.vary) == "")
    #expect(!fields.has(.expires))
  }

  @Test func `repeated Vary headers are joined, and of others the last counts`() {
    let fields = fields("HTTP/1.1 200 OK", "Vary: Accept", "ETag: \"1\"", "Vary: Accept-Language, Origin", "ETag: \"2\"", "")
    #expect(fields.joined(.vary) == "Accept, Accept-Language, Origin")
    #expect(fields.last(.etag) == "\"2\"")
    #expect(fields.joined(.age) == nil)
  }

  @Test func `a new status line starts a new head, and trailers are ignored`() {
    let fields = fields(
      "HTTP/1.1 103 Early Hints",
      "ETag: \"early\"",
      "Location: /x",
      "",
      "HTTP/2 200",
      "Last-Modified: then",
      "",
      "ETag: \"trailer\""
    )
    #expect(fields.last(.lastModified) == "then")
    #expect(!fields.has(.etag) && !fields.has(.location))
  }

  @Test func `a folded line continues the previous one`() {
    let fields = fields("HTTP/1.1 200 OK", "Cache-Control: public,", "\t max-age=5", "X-Other: 1", " Age: 3", "Age: 4", "")
    #expect(fields.last(.cacheControl) == "public, max-age=5")
    #expect(fields.last(.age) == "4")
  }
}
