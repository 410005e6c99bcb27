public import YAMLDocuments

/// One mistake in a job, and where it stands.
public struct JobMistake: Error, Sendable, CustomStringConvertible {
  /// Where a mistake was found.
  public enum Place: Sendable {
    /// In the job file.
    case file(SourceLocation)
    /// In what the command line sets: the option as it was typed.
    case option(String)
    /// In the file as a whole, by its path: it cannot be read.
    case path(String)
  }

  /// Where it was found.
  public let place: Place
  /// One sentence, without the place and without secrets.
  public let message: String
  /// Stretches of the text that hold secrets and are never shown.
  let secrets: [SourceRange]

  /// `file:line:column`, or the option, or the path.
  public var label: String {
    switch place {
    case .file(let location): location.label
    case .option(let option): option
    case .path(let path): path
    }
  }

  /// The place and the sentence on one line.
  public var description: String { SourceExcerpt.visible("\(label): \(message)") }

  /// The place and the sentence, and for a mistake in a file its line with carets below; ends without a newline.
  public func formatted(color: Bool) -> String {
    guard case .file(let location) = place, let excerpt = SourceExcerpt(at: location, hiding: secrets) else {
      return description
    }
    let number = String(excerpt.lineNumber)
    let gutter = String(repeating: " ", count: max(0, 4 - number.count)) + number
    let carets = color ? "\u{1B}[31m\(excerpt.carets)\u{1B}[0m" : excerpt.carets
    return """
      \(description)
      \(gutter) | \(excerpt.line)
      \(String(repeating: " ", count: gutter.count)) | \(excerpt.padding)\(carets)
      """
  }
}

/// Everything that is wrong with a job: the file's mistakes in order of place, then those of the command line.
public struct JobFileErrors: Error, Sendable, CustomStringConvertible {
  /// Never empty.
  public let mistakes: [JobMistake]

  /// Joins mistakes, of several jobs too, which keep their order.
  public init(_ mistakes: [JobMistake]) {
    precondition(!mistakes.isEmpty, "no mistake is no error")
    self.mistakes = mistakes
  }

  /// All mistakes for a terminal, each with its line and carets, and how many there are; ends with a newline.
  ///
  /// - Parameter color: whether the carets are red.
  public func formatted(color: Bool) -> String {
    let count = mistakes.count == 1 ? "1 mistake" : "\(mistakes.count) mistakes"
    return (mistakes.map { $0.formatted(color: color) } + ["\(count); nothing was fetched", ""]).joined(separator: "\n")
  }

  /// All mistakes, without colour.
  public var description: String { formatted(color: false) }
}
