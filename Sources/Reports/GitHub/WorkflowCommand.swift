/// A workflow command of GitHub Actions (GitHub's documentation, "Workflow commands"; the runner's `ActionCommand.cs`).
///
/// Escaped, nothing in it can end its line or its properties, so no text from outside can begin a command of its own, and the commands of a
/// report need no `::stop-commands::` around them.
struct WorkflowCommand {
  /// What it makes on the page of the run.
  enum Level {
    case error, warning
  }

  var level: Level
  /// What stands above the message.
  var title: String
  /// The path in the repository; nil where the message is of no file of it.
  var file: String?
  /// The line in the file; 0 for none.
  var line: UInt64 = 0
  var message: String

  /// Bytes that a message is cut at; GitHub takes 64 KB of an annotation.
  private static let messageLimit = 4000

  /// Appends the command as a line.
  func write(to output: inout OutputBuffer) {
    output.appendLiteral(level == .error ? "::error " : "::warning ")
    if let file {
      output.appendLiteral("file=")
      output.appendVisible(file, replacing: escapedInProperty)
      if line > 0 { output.append(",line=\(line)") }
      output.appendLiteral(",")
    }
    output.appendLiteral("title=")
    output.appendVisible(title, limit: 200, replacing: escapedInProperty)
    output.appendLiteral("::")
    // The end of a line would be escaped as %0A; it is shown as `\n` already.
    output.appendVisible(message, limit: Self.messageLimit) { $0 == UInt8(ascii: "%") ? "%25" : nil }
    output.appendLiteral("\n")
  }
}

@inline(__always)
private func escapedInProperty(_ byte: UInt8) -> StaticString? {
  switch byte {
  case UInt8(ascii: "%"): "%25"
  case UInt8(ascii: ":"): "%3A"
  case UInt8(ascii: ","): "%2C"
  default: nil
  }
}
