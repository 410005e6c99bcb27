/// What a worker made of one message, or a part of that.
public struct QueueResult: Sendable, Hashable {
  /// Where it stands among the results.
  public struct ID: Sendable, Hashable {
    let milliseconds: UInt64
    let sequence: UInt64

    /// Before the first.
    public static let start = ID(milliseconds: 0, sequence: 0)

    init(milliseconds: UInt64, sequence: UInt64) {
      self.milliseconds = milliseconds
      self.sequence = sequence
    }

    /// As Redis writes it; nil for any other text.
    init?(_ text: String) {
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, let milliseconds = UInt64(parts[0]), let sequence = UInt64(parts[1]) else { return nil }
      self.init(milliseconds: milliseconds, sequence: sequence)
    }

    var text: String { "\(milliseconds)-\(sequence)" }

    /// The next that there could be; nil behind the last.
    var next: ID? {
      if sequence < .max { return ID(milliseconds: milliseconds, sequence: sequence + 1) }
      return milliseconds < .max ? ID(milliseconds: milliseconds + 1, sequence: 0) : nil
    }
  }

  /// Where it stands.
  public let id: ID
  /// What the worker wrote; nil for what no worker wrote.
  public let payload: [UInt8]?
}
