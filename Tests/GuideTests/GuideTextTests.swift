import Foundation
import TestSupport
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

  private func text(of path: String) throws -> String {
    try String(contentsOfFile: "\(Repository.path)/\(path)", encoding: .utf8)
  }
}

/// The guide's articles and their examples.
enum Guide {
  /// Every article and landing page of the catalogues, by path below the root.
  static func articles() throws -> [String] {
    let sources = try FileManager.default.subpathsOfDirectory(atPath: "\(Repository.path)/Sources")
    return sources.filter { $0.contains(".docc/") && $0.hasSuffix(".md") }.map { "Sources/\($0)" }.sorted()
  }

  /// The example files, each named like its article, by path below the root; the last is a program of its own.
  static func examples() throws -> [String] {
    let names = try FileManager.default.contentsOfDirectory(atPath: "\(Repository.path)/Tests/GuideTests/Examples").sorted()
    return names.map { "Tests/GuideTests/Examples/\($0)" } + ["Tests/Fixtures/server/InAServer.swift"]
  }

  /// The blocks of Swift code in a Markdown file, without fences.
  static func blocks(ofArticle path: String) throws -> [String] {
    try scan(path) { line in
      switch line {
      case "```swift": .begin
      case "```": .end
      default: nil
      }
    }
  }

  /// The blocks between `// guide` and `// end` in an example file, without the indentation of their marks.
  ///
  /// A block that starts with `// guide: continued` continues the previous one.
  static func blocks(ofExamples path: String) throws -> [String] {
    try scan(path) { line in
      switch line.trimmingCharacters(in: .whitespaces) {
      case "// guide": .begin
      case "// guide: continued": .continued
      case "// end": .end
      default: nil
      }
    }
  }

  private enum Mark { case begin, continued, end }

  private static func scan(_ path: String, mark: (String) -> Mark?) throws -> [String] {
    let text = try String(contentsOfFile: "\(Repository.path)/\(path)", encoding: .utf8)
    var blocks: [[Substring]] = []
    var indentation: Int?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      switch mark(String(line)) {
      case .begin:
        blocks.append([])
        fallthrough
      case .continued: indentation = line.prefix { $0 == " " }.count
      case .end: indentation = nil
      case nil:
        if let indentation { blocks[blocks.count - 1].append(line.dropFirst(indentation)) }
      }
    }
    return blocks.map { $0.joined(separator: "\n").trimmingCharacters(in: .newlines) }
  }
}
