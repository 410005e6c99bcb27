import Testing
@testable import Jobs

@Suite struct SourceExcerptTests {
  @Test func `carets are under the token`() throws {
    let excerpt = try #require(makeExcerpt("  per-hst: 3", columns: 3..<10))
    #expect(excerpt.line == "  per-hst: 3")
    #expect(excerpt.padding == "  ")
    #expect(excerpt.carets == "^~~~~~~")
  }

  @Test func `wide characters take two cells, and combining marks none`() throws {
    let wide = try #require(makeExcerpt("日本: 🙂", columns: 5..<6))
    #expect(wide.padding.count == 6)
    #expect(wide.carets == "^~")
    let combining = try #require(makeExcerpt("e\u{301}: x", columns: 5..<6))
    #expect(combining.padding.count == 3)
  }

  @Test func `tabs take one cell`() throws {
    let excerpt = try #require(makeExcerpt("a:\tb", columns: 4..<5))
    #expect(excerpt.line == "a: b")
    #expect(excerpt.padding.count == 3)
  }

  @Test func `terminal control characters aren't shown`() throws {
    let excerpt = try #require(makeExcerpt("a: \u{1B}[31m\u{202E}x", columns: 4..<5))
    #expect(excerpt.line == "a: \u{FFFD}[31m\u{FFFD}x")
    #expect(SourceExcerpt.visible("a\u{7}b") == "a\u{FFFD}b")
  }

  @Test func `secrets aren't shown`() throws {
    let secret = range(columns: 8..<14)
    let excerpt = try #require(SourceExcerpt(at: location("Token: secret, Bad Name: x", columns: 16..<24), hiding: [secret]))
    #expect(excerpt.line == "Token: ******, Bad Name: x")
    #expect(excerpt.padding.count == 15)
  }

  @Test func `long lines are truncated around the token`() throws {
    let line = String(repeating: "a", count: 500) + "HERE" + String(repeating: "b", count: 500)
    let excerpt = try #require(makeExcerpt(line, columns: 501..<505))
    #expect(excerpt.line.count == SourceExcerpt.maximumWidthCells + 2)
    #expect(excerpt.line.first == "…" && excerpt.line.last == "…")
    #expect(excerpt.line.dropFirst(excerpt.padding.count).prefix(4) == "HERE")
    #expect(excerpt.carets == "^~~~")
  }

  @Test func `a location after the end has one caret`() throws {
    let excerpt = try #require(makeExcerpt("a:", columns: 3..<3))
    #expect(excerpt.padding.count == 2)
    #expect(excerpt.carets == "^")
    #expect(SourceExcerpt(at: location("a", columns: 1..<2, line: 7)) == nil)
  }

  private func makeExcerpt(_ line: String, columns: Range<Int>) -> SourceExcerpt? {
    SourceExcerpt(at: location(line, columns: columns))
  }

  private func location(_ text: String, columns: Range<Int>, line: Int = 1) -> YAMLLocation {
    YAMLLocation(source: SourceText(name: "t", bytes: Array(text.utf8)), range: range(columns: columns, line: line))
  }

  private func range(columns: Range<Int>, line: Int = 1) -> SourceRange {
    SourceRange(
      start: SourcePosition(line: line, column: columns.lowerBound),
      end: SourcePosition(line: line, column: columns.upperBound)
    )
  }
}
