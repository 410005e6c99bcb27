// The input of a command and its result.
extension Command {
  public enum Input: Sendable {
    /// `/dev/null`.
    case none
    /// A pipe with these bytes, closed after them.
    case bytes([UInt8])
    /// A pipe that stays open until ``closeInput()``.
    case open
  }

  /// The destination of standard output.
  public enum Output: Sendable {
    /// The test, which reads all of it.
    case captured
    /// The test, which closes its end after that many bytes, like `| head`.
    case closedAfter(bytes: Int)
    /// A file, which is created or truncated first, such as `/dev/full`.
    case file(String)
  }

  /// A terminal for standard input, standard error and, by default, standard output.
  public struct Terminal: Sendable {
    /// In characters.
    public var columns: Int
    /// In lines.
    public var rows: Int
    /// Whether standard output goes to the terminal; if false, it is as without a terminal, like in `prewarm … | cat`.
    public var takesOutput: Bool

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

  /// The result of a process that has ended.
  public struct Result: Sendable {
    /// How it ended.
    public let ending: Ending
    /// The bytes from standard output, or from the terminal.
    public let output: [UInt8]
    /// The bytes from standard error; empty if a terminal received both.
    public let error: [UInt8]

    /// The exit status; nil if a signal killed it.
    public var status: Int? { if case .exited(let status) = ending { status } else { nil } }
    /// Standard output as text.
    public var outputText: String { String(decoding: output, as: UTF8.self) }
    /// Standard error as text.
    public var errorText: String { String(decoding: error, as: UTF8.self) }
  }
}
