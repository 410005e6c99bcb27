import Foundation
import TestSupport

/// A Markdown page whose code blocks are run, with the marks above them.
///
/// A mark is a comment in the line before a block: `<!-- exits with 2 -->`, `<!-- not run: reason -->`, or `<!-- before: COMMAND -->`, a
/// command that readers don't see. A `text` block below an `sh` block is its output. A `yaml` block is a job or a part of one; if its
/// first line is a comment with a file's name, later blocks find it as that file.
struct GuidePage {
  /// A fenced block.
  struct Block {
    var language = ""
    /// The lines between the fences.
    var lines: Range<Int> = 0..<0
    var text = ""
    /// The stated exit status; 0 if none is.
    var status = 0
    var isRun = true
    var preparations: [String] = []
    /// Where its output is shown.
    var output: Range<Int>?
  }

  /// The path below the repository.
  let path: String
  private(set) var lines: [String]
  private(set) var blocks: [Block] = []

  init(_ path: String) throws {
    self.path = path
    let text = try String(contentsOfFile: "\(Repository.path)/\(path)", encoding: .utf8)
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var next = Block()
    var start: Int?
    for (number, line) in lines.enumerated() {
      if let first = start {
        guard line == "```" else { continue }
        next.lines = first..<number
        next.text = lines[first..<number].joined(separator: "\n")
        if next.language == "text", blocks.last?.language == "sh", blocks.last?.output == nil {
          blocks[blocks.count - 1].output = next.lines
        } else {
          blocks.append(next)
        }
        (start, next) = (nil, Block())
      } else if line.hasPrefix("```") {
        next.language = String(line.dropFirst(3))
        start = number + 1
      } else if let mark = line.firstMatch(of: #/^<!-- (exits with|not run|before):? ?(.*) -->$/#) {
        switch mark.output.1 {
        case "exits with": next.status = Int(mark.output.2) ?? -1
        case "not run": next.isRun = false
        default: next.preparations.append(String(mark.output.2))
        }
      }
    }
  }

  /// The output that the page shows for a block.
  func shownOutput(of block: Block) -> String? { block.output.map { lines[$0].joined(separator: "\n") } }

  /// Writes the page with other outputs, by the block that they belong to.
  func write(outputs: [(block: Block, text: String)]) throws {
    var changed = lines
    for (block, text) in outputs.reversed() {
      guard let range = block.output else { continue }
      changed.replaceSubrange(range, with: text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
    }
    try changed.joined(separator: "\n").write(toFile: "\(Repository.path)/\(path)", atomically: true, encoding: .utf8)
  }

  /// The relative paths that the page links to.
  var links: [String] {
    lines.flatMap { $0.matches(of: #/\]\(([^)#:]+)(#[^)]*)?\)/#).map { String($0.output.1) } }
  }

  static let catalogue = "Sources/prewarm/Documentation.docc"

  /// The README and the guides that people write; other tests hold the generated pages.
  static let all: [String] = {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: "\(Repository.path)/\(catalogue)")) ?? []
    let guides = files.filter { $0.hasSuffix(".md") && !["JobFile.md", "CommandLine.md"].contains($0) }
    return ["README.md"] + guides.sorted().map { "\(catalogue)/\($0)" }
  }()
}
