import Base
import Lists
import Testing

@Suite struct StylesheetTests {
  @Test(
    arguments: [
      ("a { background: url(1.png), URL( '2.png' ) no-repeat, u\\72l(3.png) }", ["1.png", "2.png", "3.png"]),
      (
        "a{cursor:url(1.cur) 2 2,auto;list-style:url(2.png);content:url(3.png)}b{border-image:url(4.png) 30}",
        ["1.cur", "2.png", "3.png", "4.png"]
      ),
      ("a { mask: url(1.svg#m); filter: url(#f); clip-path: url('#c') }", ["1.svg"]),
      (
        "@media print { a { b: url(1.png) } @supports (b: url(no.png)) { c { d: url(2.png) } } } e { f: url(3.png) }",
        ["1.png", "2.png", "3.png"]
      ),
      ("a { b: url(1.png); &:hover { b: url(2.png) } .c > d { b: url(3.png) } }", ["1.png", "2.png", "3.png"]),
      ("@font-face { font-family: x; src: url(no.woff), url(no.svg) format('svg') } a { b: url(1.png) }", ["1.png"]),
      ("@namespace svg url(http://www.w3.org/2000/svg); @namespace 'no.png'; a { b: url(1.png) }", ["1.png"]),
      ("a { behavior: url(no.htc); -moz-binding: url(no.xml); b: url(1.png) }", ["1.png"]),
      ("a { --image: url(1.png); b: var(--image) } c[d='url(no.png)'] { e: 'url(no.png)' }", ["1.png"]),
      ("/* url(no.png) */ a { b: /* x */ url(1.png)/**/; c: url(/*d.png) }", ["1.png", "/*d.png"]),
      (
        "a { b: url(1\\).png); c: url('2\\\n.png'); d: url(\"\\33 .png\"); e: url(4\\2e png) }",
        ["1).png", "2.png", "3.png", "4.png"]
      ),
      ("a { b: url(no .png); c: url(no'.png); d: url(no(.png); e: url(1.png) }", ["1.png"]),
      ("a { b: url('no.png\n); c: url(1.png) ", ["1.png"]), ("a { b: url( 1.png", ["1.png"]), ("a { b: url('1.png", ["1.png"]),
      ("a { b: url() url('') url(data:x) url(1.png) }", ["1.png"]),
      ("url(no.png) { b: c } d { e: url(1.png) }", ["1.png"]), ("} a { b: url(1.png) }", ["1.png"]),
      ("a { b: foo(; } c { d: url(1.png) }", ["1.png"]), ("a { b: [ url(1.png) ] ( { url(2.png) } ) }", ["1.png", "2.png"]),
      ("a { b: #url(no.png); c: -url(no.png); src: src('1.png') }", ["1.png"]), ("<!-- a { b: url(1.png) } -->", ["1.png"]),
      ("a { b: cross-fade(url(1.png), url(2.png), 50%); c: image(ltr '3.png') }", ["1.png", "2.png"]),
      ("a { b: url(1.png?\u{e9}) }", ["1.png?%C3%A9"]), ("b: url(no.png)", []),
    ] as [(String, [String])]
  )
  func `URLs of declarations are images`(text: String, expected: [String]) throws {
    #expect(try stylesheet(text).urls == expected.map { $0.hasPrefix("/") ? $0 : "/css/" + $0 })
  }

  @Test func `candidates of image-set() are read with resolution and type`() throws {
    let text = """
      a { b: image-set("1.png" 1x, url(2.png) 2x, url("3.avif") type("image/avif") 192dpi, linear-gradient(red, blue) 3x);
      c: -webkit-image-set(url(4.png) .5dppx) url(5.png) } d { e: image-set('6.png'
      """
    let result = try stylesheet(text)
    #expect(result.urls == (1...6).map { "/css/\($0).\($0 == 3 ? "avif" : "png")" })
    #expect(result.images.map { $0.claims.density } == [1, 2, 2, 0.5, nil, nil])
    #expect(result.images[2].claims.format == .avif)
    #expect(result.images.map(\.line) == [1, 1, 1, 2, 2, 2])
    #expect(result.images.map(\.origin.attribute) == ["b", "b", "b", "c", "c", "e"])
  }

  @Test(
    arguments: [
      (
        "@import 'a.css'; @import url(b.css) print; @IMPORT url('c.css') layer(x) supports(d: url(no.css)) (width > 9px);",
        ["a", "b", "c"]
      ),
      ("@charset 'utf-8'; @layer a, b; @import 'a.css'", ["a"]), ("/* @import 'no.css'; */ <!-- @import 'a.css'; -->", ["a"]),
      ("a { b: c } @import 'no.css';", []), ("@media x { @import 'no.css'; } @import 'no.css';", []),
      ("@import 'no.css' { }", []),
      ("@import no; @import 'a.css';", ["a"]), ("@namespace 'x'; @import 'no.css';", []), ("@import 'a.css", ["a"]),
      ("@import 'a.css' url(no.css);", ["a"]), ("a { @import 'no.css'; }", []),
    ] as [(String, [String])]
  )
  func `imports precede other rules`(text: String, expected: [String]) throws {
    let result = try stylesheet(text)
    #expect(result.stylesheetURLs == expected.map { "/css/\($0).css" })
    #expect(result.images.isEmpty)
  }

  @Test func `the encoding is that of the mark, the header or @charset`() throws {
    let url = try BaseURL("https://www.example.com/css/site.css")
    let read = { (bytes: [UInt8], type: String?) in
      bytes.withUnsafeBytes { PageDocument(stylesheet: $0, contentType: type, url: url) }.urls
    }
    let latin = Array("a{b:url(".utf8) + [0xe9] + Array(".png)}".utf8)
    #expect(read(Array("@charset \"windows-1252\";".utf8) + latin, nil) == ["/css/%C3%A9.png"])
    #expect(read(latin, "text/css;charset=latin1") == ["/css/%C3%A9.png"])
    #expect(
      read([0xef, 0xbb, 0xbf] + Array("@import 'x';a{b:url(é.png)}".utf8), "text/css;charset=latin1") == ["/css/%C3%A9.png"]
    )
  }

  @Test func `deep nesting is skipped, and long texts are read in linear time`() throws {
    let deep =
      String(repeating: "a{", count: 300_000) + "b:url(1.png)" + String(repeating: "}", count: 300_000) + "c{d:url(2.png)}"
    #expect(try stylesheet(deep).urls == ["/css/1.png", "/css/2.png"])
    let open = "a{b:" + String(repeating: "(", count: 1_000_000) + "url(1.png)"
    #expect(try stylesheet(open).urls == ["/css/1.png"])
    for repeated in ["\\", "/*", "url(", "'", "@import ", "\"\n", "a{b:url(", "image-set(", "-", "#"] {
      _ = try stylesheet(String(repeating: repeated, count: 200_000))
    }
  }
}
