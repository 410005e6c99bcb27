import TestOrigin
import Testing

/// Parts of bodies.
@Suite(.timeLimit(.minutes(2)))
struct RangeTests {
  private func answer(_ headers: String, of own: HeaderFields = [:]) throws -> String {
    let origin = try Origin(["/a": .ranged(Array("0123456789".utf8), headers: own)])
    let client = try RawClient(port: origin.port)
    client.request("/a", headers: headers + "Connection: close\r\n")
    return client.readAll().text
  }

  @Test(arguments: [("2-4", "2-4/10", "234"), ("8-99", "8-9/10", "89"), ("7-", "7-9/10", "789")])
  func `a range gets its part`(range: String, contentRange: String, body: String) throws {
    let head =
      "HTTP/1.1 206 Partial Content\r\nContent-Length: \(body.utf8.count)\r\nContent-Range: bytes \(contentRange)\r\n\r\n"
    #expect(try answer("Range: bytes=\(range)\r\n") == head + body)
  }

  @Test func `a range beyond the end gets a 416`() throws {
    let text = try answer("Range: bytes=10-19\r\n")
    #expect(text.hasPrefix("HTTP/1.1 416 ") && text.contains("\r\nContent-Range: bytes */10\r\n"))
  }

  @Test(
    arguments: ["", "Range: bytes=1-2,4-5\r\n", "Range: bytes=-3\r\n", "Range: bytes=3-2\r\n"]
  )
  func `anything but a single range gets the whole body`(headers: String) throws {
    #expect(try answer(headers) == "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789")
  }

  @Test(arguments: [("\"1\"", true), ("\"2\"", false)])
  func `a failed condition gets the whole body`(condition: String, holds: Bool) throws {
    let text = try answer("Range: bytes=0-0\r\nIf-Range: \(condition)\r\n", of: ["ETag": "\"1\""])
    #expect(text.hasPrefix("HTTP/1.1 \(holds ? 206 : 200) "))
  }
}
