import Foundation

/// The expected output under `Tests/Goldens`.
///
/// With `PREWARM_UPDATE_GOLDENS` set, a comparison writes the file instead; review its diff before committing it.
public enum Golden {
  /// The project's folder, with a trailing slash.
  static let project = String(#filePath.dropLast("Tests/TestSupport/Golden.swift".count))
  private static let directory = "\(project)Tests/Goldens"
  /// Whether comparisons write the golden files instead.
  public static let isUpdating = ProcessInfo.processInfo.environment["PREWARM_UPDATE_GOLDENS"] != nil

  /// Returns the first line in which `text` differs from the golden file `name`, such as `CommandTests/run-help.txt`; nil if they
  /// are equal.
  public static func difference(of text: String, from name: String) -> String? {
    if isUpdating { return write(text, to: name) }
    guard let golden = Golden.text(of: name) else {
      return "Tests/Goldens/\(name) doesn't exist; PREWARM_UPDATE_GOLDENS=1 creates it"
    }
    return golden == text ? nil : "\(name): \(firstDifference(golden, text))"
  }

  /// Returns the text of the golden file `name`; nil if there is none.
  static func text(of name: String) -> String? {
    readFile("\(directory)/\(name)").map { String(decoding: $0, as: UTF8.self) }
  }

  /// Writes `text` to the golden file `name`; returns the reason if that fails.
  static func write(_ text: String, to name: String) -> String? {
    let path = "\(directory)/\(name)"
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    } catch {
      return "cannot write \(path): \(error)"
    }
    return nil
  }

  private static func firstDifference(_ golden: String, _ text: String) -> String {
    let goldenLines = golden.split(separator: "\n", omittingEmptySubsequences: false)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let index = zip(goldenLines, lines).enumerated().first { $1.0 != $1.1 }?.offset ?? min(goldenLines.count, lines.count)
    let line = { (lines: [Substring]) in index < lines.count ? "'\(lines[index])'" : "the end" }
    return "line \(index + 1)\n  golden: \(line(goldenLines))\n  now:    \(line(lines))"
  }
}
