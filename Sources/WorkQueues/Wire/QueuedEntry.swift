/// A row of a manifest in a message; its texts lie in the message's ``QueuedMessage/bytes``.
public struct QueuedEntry: Sendable, Hashable {
  /// What became of a row when its manifest was read.
  public enum State: Sendable, Hashable {
    /// To be fetched.
    case good
    /// Left out by the job's filters.
    case filtered
    /// No URL can be made of it; the sentence on why lies there.
    case invalid(sentence: Range<Int>)
  }

  /// Where its URL lies, as written.
  public var url: Range<Int>
  /// The index of its manifest.
  public var manifest: UInt32
  /// The line on which it begins, from 1.
  public var line: UInt64
  /// What became of it.
  public var state: State
}

/// A row of a manifest on its way into a queue.
public struct NewQueuedEntry {
  /// What became of a row when its manifest was read.
  public enum State {
    /// To be fetched.
    case good
    /// Left out by the job's filters.
    case filtered
    /// No URL can be made of it, for the reason that the sentence tells.
    case invalid(sentence: String)
  }

  /// Its URL as written; valid for the call that it is given to.
  public var url: UnsafeRawBufferPointer
  /// The index of its manifest.
  public var manifest: UInt32
  /// The line on which it begins, from 1.
  public var line: UInt64
  /// What became of it.
  public var state: State

  /// A row.
  public init(url: UnsafeRawBufferPointer, manifest: UInt32, line: UInt64, state: State = .good) {
    self.url = url
    self.manifest = manifest
    self.line = line
    self.state = state
  }
}
