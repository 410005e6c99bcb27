import Foundation
import Testing

/// Compares the guide with the examples that are compiled and run here.
@Suite struct GuideTextTests {
  @Test("every code block of the guide is an example") func everyBlockOfTheGuideIsAnExample() throws {
    let examples = try Guide.examples()
    var shown: Set<String> = []
    for article in try Guide.articles() {
      let blocks = try Guide.blocks(ofArticle: article)
      let name = URL(fileURLWithPath: article).deletingPathExtension().lastPathComponent + ".swift"
      if blocks.isEmpty { continue }
      let example = try #require(examples.first { $0.hasSuffix("/\(name)") }, "\(article) has no example")
      #expect(try blocks == Guide.blocks(ofExamples: example), "\(article) and \(example) differ")
      shown.insert(example)
    }
    #expect(shown == Set(examples))
  }

  @Test("CONTRIBUTING.md names the packages that the script installs") func packages() throws {
    let script = try text(of: "scripts/install-dependencies")
    let start = try #require(script.range(of: "build)\n    packages+=("))
    let end = try #require(script.range(of: ")", range: start.upperBound..<script.endIndex))
    let packages = script[start.upperBound..<end.lowerBound].split(whereSeparator: \.isWhitespace)
    let contributing = try text(of: "CONTRIBUTING.md")
    #expect(packages.count > 5)
    for package in packages { #expect(contributing.contains(package), "\(package) is missing") }
  }

  private func text(of path: String) throws -> String { try String(contentsOfFile: "\(Guide.root)/\(path)", encoding: .utf8) }
}
