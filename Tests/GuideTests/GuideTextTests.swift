import Foundation
import Testing

/// Compares the guide with the examples that are compiled and run here.
@Suite struct GuideTextTests {
  @Test func `every code block of the guide is an example`() throws {
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

  @Test func `CONTRIBUTING.md names the packages that the script installs, and the library's guide those of the library`() throws
  {
    let script = try text(of: "scripts/install-dependencies")
    func packages(after mark: String) throws -> [Substring] {
      let start = try #require(script.range(of: mark))
      let end = try #require(script.range(of: ")", range: start.upperBound..<script.endIndex))
      return script[start.upperBound..<end.lowerBound].split(whereSeparator: \.isWhitespace)
    }
    let library = try packages(after: "library=(")
    let all = library + (try packages(after: "build) packages+=(\"${library[@]}\" "))
    let contributing = try text(of: "CONTRIBUTING.md")
    #expect(library.count > 10 && all.count > library.count)
    for package in all { #expect(contributing.contains(package), "\(package) is missing") }
    let guide = try text(of: "Sources/ImageManaging/ImageManaging.docc/GettingStarted.md")
    for package in library { #expect(guide.contains(package), "\(package) is missing") }
  }

  private func text(of path: String) throws -> String { try String(contentsOfFile: "\(Guide.root)/\(path)", encoding: .utf8) }
}
