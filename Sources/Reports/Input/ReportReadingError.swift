/// Why an earlier report, or what was kept of one, could not be read, as one sentence that names the file.
public struct ReportReadingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The path as it was given; `-` is standard input.
  public var path: String
  /// The line that is wrong, from 1; nil where the file as a whole is.
  public var line: UInt64?
  /// What is wrong, as it follows the name: `is empty`.
  public var message: String

  /// An error in that file.
  public init(path: String, line: UInt64? = nil, message: String) {
    self.path = path
    self.line = line
    self.message = message
  }

  /// The sentence: where, what, and what to do.
  public var description: String {
    let place = path == "-" ? "standard input" : path
    return line.map { "\(place):\($0): \(message)" } ?? "\(place) \(message)"
  }
}
