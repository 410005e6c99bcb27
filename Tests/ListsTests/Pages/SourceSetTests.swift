import Base
import Lists
import Testing

/// Cases of the HTML Standard's algorithm and of web-platform-tests, `html/semantics/embedded-content/the-img-element/srcset`.
@Suite struct SourceSetTests {
  private func candidates(_ text: String) -> [String] {
    let escaped = text.replacing("&", with: "&amp;").replacing("\"", with: "&quot;")
    let result = page("<img srcset=\"\(escaped)\">")
    return zip(result.urls, result.images).map { url, image in
      let parts = [image.claims.sourceWidth.map { "\($0)w" }, image.claims.density.map { "\($0)x" }]
      return ([String(url.dropFirst(6))] + parts.compactMap(\.self)).joined(separator: " ")
    }
  }

  @Test(
    arguments: [
      ("a", ["a"]), ("a,b", ["a,b"]), ("a, b", ["a", "b"]), ("a ,b", ["a", "b"]), ("a,,, b", ["a", "b"]),
      (" , ,a 1x", ["a 1.0x"]),
      ("a 1x,b 2x", ["a 1.0x", "b 2.0x"]), ("a 1x , b", ["a 1.0x", "b"]), ("a\n100w\t,\u{c}b 200w", ["a 100w", "b 200w"]),
      ("c_fill,w_200/a.jpg 200w, c_fill,w_400/a.jpg 400w", ["c_fill,w_200/a.jpg 200w", "c_fill,w_400/a.jpg 400w"]),
      ("data:,a 1x, b 2x", ["b 2.0x"]), ("a (,b", []), ("a ( , data:,b 1x, ), c", ["c"]),
      ("a 1x,, , b 1x", ["a 1.0x", "b 1.0x"]),
      ("", []), (",", []), ("  ", []), ("a 1x b 2x", []), ("a,1x", ["a,1x"]), ("(a) 2x", ["(a) 2.0x"]),
    ] as [(String, [String])]
  )
  func `candidates are split at commas after spaces or descriptors only`(text: String, expected: [String]) {
    #expect(candidates(text) == expected)
  }

  @Test(
    arguments: [
      ("1x", "1.0x"), ("1.5x", "1.5x"), (".5x", "0.5x"), ("1e1x", "10.0x"), ("-0x", "-0.0x"), ("0x", "0.0x"), ("-1x", nil),
      ("+1x", nil), ("1.x", nil), ("1e400x", nil), ("Infinityx", nil), ("NaNx", nil), ("0x1x", nil), ("1X", nil), ("1", nil),
      ("x", nil), ("1w", "1w"), ("0w", nil), ("-1w", nil), ("+1w", nil), ("1.0w", nil), ("1e3w", nil), ("w", nil), ("1W", nil),
      ("1w 1h", "1w"), ("1h 1w", "1w"), ("1h", nil), ("1w 0h", nil), ("1w -1h", nil), ("1w 1w", nil), ("1w 1x", nil),
      ("1x 1w", nil), ("1x 1x", nil), ("1x 1h", nil), ("1w 1h 1h", nil), ("1w 1h 1x", nil), ("1y", nil), ("1w x", nil),
      ("99999999999w", "4294967295w"),
    ] as [(String, String?)]
  )
  func `valid descriptors are read, and others drop the candidate`(text: String, expected: String?) {
    #expect(candidates("a \(text)") == [expected].compactMap { $0.map { "a \($0)" } })
    #expect(candidates("a \(text), b 2x").last == "b 2.0x")
    #expect(page("<img srcset='a \(text)'>").remarks.candidates.count == (expected == nil ? 1 : 0))
  }
}
