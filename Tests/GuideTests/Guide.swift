import Foundation
import TestSupport

/// The guide's articles and their examples.
enum Guide {
  /// The folder of the whole package.
  static let root = String(
    URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().path.dropLast("/Tests/GuideTests/Guide.swift".count)
  )

  /// Every article and landing page of the catalogues, by path below the root.
  static func articles() throws -> [String] {
    let sources = try FileManager.default.subpathsOfDirectory(atPath: "\(root)/Sources")
    return sources.filter { $0.contains(".docc/") && $0.hasSuffix(".md") }.map { "Sources/\($0)" }.sorted()
  }

  /// The example files, each named like its article, by path below the root; the last is a program of its own.
  static func examples() throws -> [String] {
    let names = try FileManager.default.contentsOfDirectory(atPath: "\(root)/Tests/GuideTests/Examples").sorted()
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
    let text = try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
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
