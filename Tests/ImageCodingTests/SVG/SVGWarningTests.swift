import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("warnings about SVG images") struct SVGWarningTests {
  @Test(
    arguments: [
      "<g/>\n<script>alert(1)</script>",
      "<script href='https://example.org/a.js'/>",
      "<g onclick='alert(1)'/>",
      "<a href=' JavaScript:alert(1)'/>",
      "<a xlink:href='java&#10;script:alert(1)'/>",
      "<a><set attributeName='href' to='javascript:alert(1)'/></a>",
      "<image href='https://example.org/a.png'/>",
      "<image xlink:href='a.png'/>",
      "<use href='sprite.svg#a'/>",
      "<rect fill='url(https://example.org/a.svg#b)'/>",
      "<rect style='fill: red; filter: URL( \"a.svg#b\" )'/>",
      "<style>\n.a { }\n@font-face { src: url('https://example.org/a.woff2') }</style>",
      "<style>.a { fill: u\\72l(a.svg#b) } .b { mask: \\75 \\52\\4c(b.svg#c) } @\\69mport 'c.css';</style>",
      "<style><![CDATA[@import 'a.css'; @import url(b.css);]]></style>",
      "<foreignObject><iframe xmlns='http://www.w3.org/1999/xhtml' src='https://example.org/'/></foreignObject>",
      "<foreignObject><p xmlns='http://www.w3.org/1999/xhtml' onmouseover='a()'><script>a()</script></p></foreignObject>",
    ]
  )
  func `parts that browsers ignore in an image are warnings`(content: String) throws {
    let warnings = try SVG.prove(SVG.document(content)).warnings
    expectGolden(warnings.joined(separator: "\n"), for: content)
  }

  @Test(
    arguments: [
      "<a href='https://example.org/'><text/></a>",
      "<use href='#a'/><use xlink:href=' #a'/><image href=''/>",
      "<rect fill='url(#a)' style='filter: url(\"#b\"); mask: url( #c )'/>",
      "<style>/* url(a.png) */ .a::after { content: 'url(a.png)' } .b { fill: url(data:image/png;base64,AA==) }</style>",
      "<style>.cu\\72l(a) { content: \\75rls(b) } .\\url { } .a\\:url(c) { }</style>",
      "<style>@namespace svg url(http://www.w3.org/2000/svg); .curl(x) { }</style>",
      "<metadata xmlns:m='http://example.org'><m:image href='https://example.org/a.png' onclick='x'/></metadata>",
      "<g on='1' data-on='2'/>",
      "<text>javascript:alert(1) url(a.png) &lt;script&gt;</text>",
      "<foreignObject><p xmlns='http://www.w3.org/1999/xhtml'>text</p></foreignObject>",
    ]
  )
  func `usual parts aren't warnings`(content: String) throws {
    #expect(try SVG.prove(SVG.document(content)).warnings == [])
  }

  @Test func `style sheet instructions and undeclared entities are warnings`() throws {
    let text = "<?xml version='1.0'?>\n<?xml-stylesheet href='a.css'?>\n" + SVG.document()
    expectGolden(try SVG.prove(text).warnings.joined(separator: "\n"))
    let typed = "<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd'>\n"
    expectGolden(try SVG.prove(typed + SVG.document("<text>&nbsp;</text>")).warnings.joined(separator: "\n"))
  }

  @Test func `at most ten problems are listed`() throws {
    let warnings = try SVG.prove(SVG.document(String(repeating: "<script/>\n", count: 13))).warnings
    #expect(warnings.count == 11)
    expectGolden(warnings.last)
    #expect(try SVG.prove(SVG.document(String(repeating: "<script/>\n", count: 10))).warnings.count == 10)
  }

  @Test func `embedded images are decoded`() throws {
    let good = ["rgba.png", "photo-small.jpg", "still.gif", "lossy.webp"].map { FixtureImage.named($0).bytes }
    for bytes in good + [SVGImage.named("minimal.svg").bytes, SVGImage.named("compressed.svgz").bytes] {
      #expect(try warnings(embedding: bytes) == [])
    }
    for (name, bytes) in [
      ("cut", Array(good[0].dropLast(100))), ("empty", []), ("text", Array("text".utf8)),
      ("broken", Fixtures.bytes("images/broken/bad-crc.png")), ("huge", Fixtures.bytes("images/broken/huge.png")),
      ("cut SVG", Fixtures.bytes("images/svg/broken/cut.svg")),
    ] {
      let warnings = try warnings(embedding: bytes)
      #expect(warnings.count == 1)
      expectGolden(warnings.first, for: name)
    }
    expectGolden(try SVG.prove(Fixtures.bytes("images/svg/broken/cut-embedding.svg")).warnings.joined(separator: "\n"))
  }

  @Test func `parts of embedded SVGs that browsers ignore are warnings`() throws {
    let inner = SVG.document("<script/>\n<image href='data:,text'/>")
    let outer = SVG.document("<image href='data:image/svg+xml;base64,\(Data(inner.utf8).base64EncodedString())'/>")
    expectGolden(try warnings(embedding: Array(inner.utf8)).joined(separator: "\n"))
    expectGolden(try warnings(embedding: Array(outer.utf8)).joined(separator: "\n"))
  }

  private func warnings(embedding bytes: [UInt8]) throws -> [String] {
    let data = Data(bytes).base64EncodedString()
    let unpadded = data.replacingOccurrences(of: "=", with: "")
    let escaped = data.replacingOccurrences(of: "+", with: "%2B").replacingOccurrences(of: "=", with: "%3d")
    let percent = bytes.map { String(format: "%%%02X", $0) }.joined()
    var found: [[String]] = []
    for url in ["image/png;base64,\(data)", "image/png;base64,\(unpadded)", ";BASE64 , \(escaped)", "image/svg+xml,\(percent)"] {
      found.append(try SVG.prove(SVG.document("\n<image href='data:\(url)'/>")).warnings)
    }
    #expect(Set(found).count == 1)
    return found[0]
  }

  @Test(arguments: ["A", "AAAAA", "AA=", "AA==AA==", "A*AA", "AAA=="])
  func `invalid Base64 is a warning`(data: String) throws {
    let warnings = try SVG.prove(SVG.document("<image href='data:image/png;base64,\(data)'/>")).warnings
    #expect(warnings == ["the embedded image on line 2 isn't valid Base64"])
  }

  @Test func `embedded images that entities repeat are verified within the memory of the file`() throws {
    let data = Data(FixtureImage.named("photo-small.jpg").bytes).base64EncodedString()
    let images = String(repeating: "<image href='data:image/jpeg;base64,&a;'/>\n", count: 90)
    let warnings = try SVG.prove(SVG.document(images, declaring: "<!ENTITY a '\(data)'>")).warnings
    #expect(warnings.count == 1)
    expectGolden(warnings.first)
  }
}
