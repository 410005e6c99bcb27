import ImageCoding
import Base
import TestSupport
import Testing

@Suite("limits of SVG images") struct SVGLimitTests {
  @Test func `plain internal entities are expanded`() throws {
    let text = SVG.document(
      "<g fill='&color;'>&shapes;</g>",
      declaring: "<!ENTITY color 'red'>\n<!ENTITY shapes \"<path d='&path;'/><path/>\">\n<!ENTITY path 'M0 0h1'>"
    )
    #expect(try SVG.prove(text).warnings == [])
  }

  @Test(arguments: [false, true]) func `a billion laughs are rejected, in text and in attributes`(isAttribute: Bool) {
    var declarations = "<!ENTITY a0 'lol lol lol lol lol lol lol lol'>"
    for level in 1...20 { declarations += "<!ENTITY a\(level) '\(String(repeating: "&a\(level - 1);", count: 10))'>" }
    let text = SVG.document(isAttribute ? "<g id='&a20;'/>" : "<text>&a20;</text>", declaring: declarations)
    let clock = ContinuousClock()
    let time = clock.measure {
      let error = imageError { try SVG.prove(text) }
      #expect(error?.kind == .undecodable)
      expectGolden(error?.message, for: isAttribute ? "attribute" : "text")
    }
    #expect(time < .seconds(5), "\(time)")
  }

  @Test func `entities that make many elements are rejected`() {
    var declarations = "<!ENTITY a0 '\(String(repeating: "<g/>", count: 100))'>"
    for level in 1...8 { declarations += "<!ENTITY a\(level) '\(String(repeating: "&a\(level - 1);", count: 10))'>" }
    let error = imageError { try SVG.prove(SVG.document("&a8;", declaring: declarations)) }
    #expect(error?.kind == .undecodable)
    expectGolden(error?.message)
  }

  @Test func `attributes that declarations add count as nodes`() {
    let attributes = (0..<10_000).map { "a\($0) CDATA 'x'" }.joined(separator: " ")
    let text = SVG.document(String(repeating: "<g/>", count: 100_000), declaring: "<!ATTLIST g \(attributes)>")
    let clock = ContinuousClock()
    let time = clock.measure {
      let error = imageError { try SVG.prove(text) }
      #expect(error?.kind == .undecodable)
      expectGolden(error?.message)
    }
    #expect(time < .seconds(20), "\(time)")
  }

  @Test func `a long chain of entities is rejected before it is followed`() throws {
    func chain(_ count: Int) -> String {
      let declarations = (1..<count).map { "<!ENTITY a\($0) '&a\($0 - 1);'>" }.joined()
      return SVG.document("<g id='&a\(count - 1);'>&a\(count - 1);</g>", declaring: "<!ENTITY a0 'x'>\(declarations)")
    }
    _ = try SVG.prove(chain(500))
    expectGolden(imageError { try SVG.prove(chain(501)) }?.message)
    #expect(imageError { try SVG.prove(chain(200_000)) }?.kind == .undecodable)
  }

  @Test func `elements may be nested 1,000 deep`() throws {
    func nested(_ depth: Int) -> String {
      SVG.document(String(repeating: "<g>", count: depth) + String(repeating: "</g>", count: depth))
    }
    _ = try SVG.prove(nested(999))
    let error = imageError { try SVG.prove(nested(1000)) }
    #expect(error?.kind == .undecodable)
    expectGolden(error?.message)
    #expect(imageError { try SVG.prove(nested(100_000)) } == error)
  }

  @Test(arguments: [UInt8(0), UInt8(ascii: " ")]) func `compressed bombs are rejected quickly`(filling: UInt8) {
    let start = Array("<svg xmlns='http://www.w3.org/2000/svg'><text>".utf8)
    // Its members are the same 100 times.
    let member = [UInt8](repeating: filling, count: 10 << 20).gzipped
    let bomb = start.gzipped + Array(repeatElement(member, count: 100).joined())
    let clock = ContinuousClock()
    let time = clock.measure {
      let error = imageError { try SVG.prove(bomb) }
      #expect(error?.kind == .undecodable)
      expectGolden(error?.message, for: "\(filling)")
    }
    #expect(time < .seconds(20), "\(time)")
  }

  @Test func `memory is limited and returned`() throws {
    let bytes = SVGImage.named("embedding.svg").bytes
    let error = imageError { try SVG.prove(bytes, limits: DecodingLimits(maximumBytes: 1000)) }
    #expect(error?.kind == .memory(maximumBytes: 1000))
    expectGolden(error?.message)
    let names = (0..<200_000).map { "<a\($0)/>" }.joined()
    let distinct = imageError { try SVG.prove(SVG.document(names)) }
    #expect(distinct?.kind == .undecodable)
    expectGolden(distinct?.message)
    let budget = DecodingBudget(bytes: 1 << 20)
    let limits = DecodingLimits(budget: budget)
    _ = try SVG.prove(bytes, limits: limits)
    #expect(imageError { try SVG.prove(Fixtures.bytes("images/svg/broken/cut.svg"), limits: limits) } != nil)
    #expect(budget.takenBytes == 0)
  }

  @Test func `a file that takes too long is rejected`() {
    let text = SVG.document(String(repeating: "<g/>", count: 100_000))
    let error = imageError { try SVG.prove(text, limits: DecodingLimits(maximumTime: .microseconds(10))) }
    #expect(error?.kind == .undecodable)
    expectGolden(error?.message)
  }
}
