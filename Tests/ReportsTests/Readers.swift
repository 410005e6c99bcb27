import Foundation
import TestSupport
import Testing

/// Readers of reports' forms that others wrote, as Debian has them; `scripts/install-dependencies test` brings them.
enum Readers {
  /// Runs a program over `input`; what it says, where it ends well.
  static func run(_ program: String, _ arguments: [String], input: [UInt8]) async throws -> String {
    let path = "/usr/bin/\(program)"
    try #require(FileManager.default.isExecutableFile(atPath: path), "run scripts/install-dependencies test")
    let result = try await Command(path, arguments, input: .bytes(input)).wait()
    try #require(result.status == 0, "\(program): \(result.errorText)\(result.outputText)")
    return result.outputText + result.errorText
  }

  /// Rows of a CSV file as Python's csv module reads them.
  static func csv(_ bytes: [UInt8]) async throws -> [[String]] {
    // Of python3-minimal, which has no json.
    let script = """
      import csv, io, sys
      text = io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8', errors='strict', newline='')
      for row in csv.reader(text, strict=True):
        sys.stdout.buffer.write(''.join(field + chr(31) for field in row).encode() + bytes([30]))
      """
    let output = try await run("python3", ["-I", "-c", script], input: bytes)
    return output.utf8.split(separator: 30).map { row in
      row.split(separator: 31, omittingEmptySubsequences: false).dropLast().map { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// Throws where a JUnit file breaks the schema in the fixtures.
  static func checkJUnit(_ bytes: [UInt8]) async throws {
    _ = try await run("xmllint", ["--noout", "--huge", "--schema", Fixtures.path("reports/junit.xsd"), "-"], input: bytes)
  }

  /// The nodes of a Markdown document, as GitHub's own parser writes them in XML.
  static func markdown(_ bytes: [UInt8]) async throws -> XMLNodes {
    let extensions = ["table", "autolink", "strikethrough", "tagfilter", "tasklist"].flatMap { ["-e", $0] }
    let xml = try await run("cmark-gfm", extensions + ["--unsafe", "-t", "xml"], input: bytes)
    return try XMLNodes(Array(xml.utf8))
  }

  /// Throws where promtool finds fault with metrics, lint included.
  static func checkMetrics(_ bytes: [UInt8]) async throws {
    let words = try await run("promtool", ["check", "metrics"], input: bytes)
    try #require(words.isEmpty, "promtool: \(words)")
  }
}
