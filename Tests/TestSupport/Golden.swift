import Foundation

/// Texts under `Tests/Goldens` that what the program prints is held against.
///
/// With `PREWARM_UPDATE_GOLDENS` set, a comparison writes the file instead; look at the difference before committing it.
public enum Golden {
  private static let directory = String(#filePath.dropLast("TestSupport/Golden.swift".count)) + "Goldens"
  private static let isUpdating = ProcessInfo.processInfo.environment["PREWARM_UPDATE_GOLDENS"] != nil

  /// Returns how `text` differs from the golden file `name`, such as `CommandTests/run-help.txt`: the first line that differs, in
  /// both; nil if they are equal.
  public static func difference(of text: String, from name: String) -> String? {
    let path = "\(directory)/\(name)"
    if isUpdating {
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
      do {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      } catch {
        return "\(path) cannot be written: \(error)"
      }
      return nil
    }
    guard let bytes = readFile(path) else { return "no \(path); PREWARM_UPDATE_GOLDENS=1 writes it" }
    let golden = String(decoding: bytes, as: UTF8.self)
    return golden == text ? nil : "\(name): \(firstDifference(golden, text))"
  }

  private static func firstDifference(_ golden: String, _ text: String) -> String {
    let goldenLines = golden.split(separator: "\n", omittingEmptySubsequences: false)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let index = zip(goldenLines, lines).enumerated().first { $1.0 != $1.1 }?.offset ?? min(goldenLines.count, lines.count)
    let line = { (lines: [Substring]) in index < lines.count ? "'\(lines[index])'" : "the end" }
    return "line \(index + 1)\n  golden: \(line(goldenLines))\n  now:    \(line(lines))"
  }
}
