import TestSupport
import Testing
@testable import Jobs

@Suite struct YAMLDocumentTests {
  @Test func `every node has its location`() throws {
    let document = try parse("a: 1\nlist:\n  - x\n  - {k: \"v w\"}\n")
    let root = try #require(document.root.mapping)
    #expect(root["a"]?.scalar == YAMLScalar("1", isPlain: true))
    let list = try #require(root["list"]?.sequence)
    #expect(list[0].location.label == "job.yaml:3:5")
    let value = try #require(list[1].mapping?["k"])
    #expect(value.scalar == YAMLScalar("v w", isPlain: false))
    #expect(value.location.range.start == SourcePosition(line: 4, column: 9))
    #expect(value.location.range.end == SourcePosition(line: 4, column: 14))
  }

  @Test func `columns count characters`() throws {
    let root = try #require(try parse("ключ: {日本: é, b: c}\n").root.mapping)
    let inner = try #require(root["ключ"]?.mapping)
    #expect(inner["b"]?.location.label == "job.yaml:1:18")
  }

  @Test(arguments: ["\u{FEFF}a: 1\nb: 2\n", "a: 1\r\nb: 2\r\n", "a: 1\rb: 2\r", "a: 1\u{2028}b: 2"])
  func `byte order marks and line ends don't shift locations`(text: String) throws {
    let document = try parse(text)
    let second = try #require(document.root.mapping?.pairs.last)
    #expect(second.key.scalar?.text == "b")
    #expect(second.key.location.label == "job.yaml:2:1")
    #expect(Array(document.source.lines.prefix(2)) == ["a: 1", "b: 2"])
  }

  @Test func `aliases are expanded`() throws {
    let root = try #require(try parse("a: &x {k: 1}\nb: *x\n").root.mapping)
    let copy = try #require(root["b"])
    #expect(copy.hasSameContent(as: try #require(root["a"])))
    #expect(copy.location.label == "job.yaml:1:4")
  }

  @Test func `explicit tags are kept`() throws {
    let root = try #require(try parse("a: !!int 1\nb: 1\nc: !x [1]\n").root.mapping)
    #expect(root["a"]?.tag == "tag:yaml.org,2002:int")
    #expect(root["b"]?.tag == nil)
    #expect(root["c"]?.tag == "!x")
  }

  @Test func `duplicate keys are found with both locations`() throws {
    let root = try #require(try parse("a: 1\nb: 2\na: 3\na: 4\n").root.mapping)
    #expect(root.duplicateKeys.map { [$0.first, $0.again].map(\.location.range.start.line) } == [[1, 3], [1, 4]])
  }

  @Test(
    arguments: [
      ("a: [1\nb: 2\n", "job.yaml:2:2: while parsing a flow sequence: did not find expected ',' or ']'"),
      ("a: *x\n", "job.yaml:1:4: found undefined alias"),
      ("a: 1\nb: \u{1}\n", "job.yaml:2:4: control characters are not allowed"),
      ("a: 1\n---\nb: 2\n", "job.yaml:3:1: a second document starts here, but only one is allowed"),
      ("# nothing\n", "job.yaml:1:1: the text contains no document"),
      ("", "job.yaml:1:1: the text contains no document"),
    ]
  )
  func `errors have a location and the library's message`(text: String, description: String) {
    #expect(throws: YAMLError.self) { try parse(text) }
    #expect(message(text) == description)
  }

  @Test(
    arguments: [
      ("a:\n\t- 1\n", "job.yaml:2:1: ", "write '  - 1'"),
      ("a:\n  b: 1\n\tc: 2\n", "job.yaml:3:1: ", "write '  c: 2'"),
      ("a:\n  b: x\n  \tc: 2\n", "job.yaml:3:3: ", "write '    c: 2'"),
      ("a:\n  - b: x\n\t  c: [1]\n", "job.yaml:3:1: ", "write '    c: [1]'"),
      ("a:\n  - b: 'x'\n\tc: 'y'\nd: 1\n", "job.yaml:3:1: ", "write '  c: 'y''"),
    ]
  )
  func `a tab as indentation is reported with the line to write`(text: String, location: String, advice: String) {
    let found = message(text) ?? ""
    #expect(found.hasPrefix(location) && found.hasSuffix(advice), "\(found)")
  }

  @Test func `a tab elsewhere isn't an error`() throws {
    #expect(try parse("a:\t1 # x\ty\nb: \"\t\"\n").root.mapping?["a"]?.scalar?.text == "1")
    #expect(message("a: |\n  x\n  \ty\nb: [1\nc: 2\n")?.contains("tab") == false)
  }

  @Test func `malformed bytes have a location`() {
    let error = #expect(throws: YAMLError.self) { try YAMLDocument(parsing: Array("a: 1\nb: é".utf8) + [0xFF], name: "job.yaml") }
    expectGolden(error?.description)
  }
}

@Suite struct YAMLLimitsTests {
  @Test func `an alias bomb is rejected`() {
    var text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for level in 1...9 {
      let aliases = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
      text += "a\(level): &a\(level) [\(aliases)]\n"
    }
    expectGolden(message(text))
  }

  @Test func `a recursive alias is rejected`() {
    expectGolden(message("a: &x [*x]\n"))
  }

  @Test func `nesting is limited`() throws {
    let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    #expect(throws: Never.self) { try parse(deep) }
    expectGolden(message("[\(deep)]"))
    // libyaml alone would take minutes for this text.
    expectGolden(message(String(repeating: "[", count: 1 << 20)))
  }

  @Test func `too many values and anchors are rejected`() {
    expectGolden(message("[" + String(repeating: "a,", count: 100_000) + "]"))
    expectGolden(message((0...1000).map { "- &a\($0) x\n" }.joined()))
  }

  @Test func `a text above the size limit is rejected`() throws {
    let comment = "a: 1 #" + String(repeating: "x", count: 1 << 20)
    #expect(throws: Never.self) { try parse(String(comment.prefix(1 << 20))) }
    expectGolden(message(comment))
  }
}

private func parse(_ text: String) throws(YAMLError) -> YAMLDocument {
  try YAMLDocument(parsing: Array(text.utf8), name: "job.yaml")
}

/// The sentence of the error that a text has; nil if it has none.
private func message(_ text: String) -> String? {
  do {
    _ = try parse(text)
    return nil
  } catch {
    return error.description
  }
}
