/// What a command is given and how it ends.
extension Command {
  /// What standard input is.
  public enum Input: Sendable {
    /// `/dev/null`.
    case none
    /// A pipe with these bytes, closed after them.
    case bytes([UInt8])
    /// A pipe that stays open until ``closeInput()``.
    case open
  }

  /// Where standard output goes.
  public enum Output: Sendable {
    /// To the test, in full.
    case captured
    /// To the test, who closes its end after so many bytes, as `| head` does.
    case closedAfter(bytes: Int)
    /// To a file, made or emptied first, such as `/dev/full`.
    case file(String)
  }

  /// A terminal, in place of standard input, standard error and, unless said otherwise, standard output.
  public struct Terminal: Sendable {
    /// The width in characters.
    public var columns: Int
    /// The height in lines.
    public var rows: Int
    /// Whether standard output goes to the terminal; false leaves it as it is without one, as in `prewarm … | cat`.
    public var takesOutput: Bool

    /// A terminal of 80 columns and 24 rows that takes standard output, unless said otherwise.
    public init(columns: Int = 80, rows: Int = 24, takesOutput: Bool = true) {
      self.columns = columns
      self.rows = rows
      self.takesOutput = takesOutput
    }
  }

  /// How a process ended.
  public enum Ending: Sendable, Hashable {
    /// It exited with this status.
    case exited(Int)
    /// This signal killed it.
    case signalled(Int32)
  }

  /// A process that has ended, with all it said.
  public struct Result: Sendable {
    /// How it ended.
    public let ending: Ending
    /// What it wrote to standard output, or to the terminal in its place.
    public let output: [UInt8]
    /// What it wrote to standard error; nothing where a terminal took both.
    public let error: [UInt8]

    /// The exit status; nil where a signal killed it.
    public var status: Int? { if case .exited(let status) = ending { status } else { nil } }
    /// Standard output as text.
    public var outputText: String { String(decoding: output, as: UTF8.self) }
    /// Standard error as text.
    public var errorText: String { String(decoding: error, as: UTF8.self) }
  }
}
