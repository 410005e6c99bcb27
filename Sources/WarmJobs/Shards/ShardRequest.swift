import Manifests

/// Which shard of a job is asked for, as the command line says it: `2/5`, `auto/5` or `auto`.
public enum ShardRequest: Sendable, Hashable {
  /// That one, counted from 1.
  case numbered(ShardNumber)
  /// The one that the scheduler says this task is; nil: it says, too, how many there are.
  case automatic(count: Int?)

  /// Reads `I/N`, `auto/N` or `auto`.
  public init(_ text: String) throws(ShardError) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let count = parts.count > 1 ? try Self.count(parts[1], of: text) : nil
    if parts[0] == "auto" {
      self = .automatic(count: count)
      return
    }
    guard let count, isNumber(parts[0]) else { throw Self.unreadable(text) }
    guard let index = decimal(parts[0]), (1...count).contains(index) else {
      throw ShardError("--shard \(text): shards are counted from 1 to \(count)")
    }
    self = .numbered(ShardNumber(index: index, count: count))
  }

  /// The shard that it means where these are the variables of the process.
  public func number(environment: [String: String]) throws(ShardError) -> ShardNumber {
    switch self {
    case .numbered(let number): number
    case .automatic(let count): try ArrayTask(environment: environment).shard(of: count)
    }
  }

  private static func count(_ part: Substring, of text: String) throws(ShardError) -> Int {
    guard isNumber(part) else { throw unreadable(text) }
    guard let count = decimal(part), (1...Shard.maximumCount).contains(count) else {
      throw ShardError("--shard \(text): there may be 1 to \(Shard.maximumCount) shards")
    }
    return count
  }

  private static func unreadable(_ text: String) -> ShardError {
    ShardError(
      "--shard \(text): write it as I/N, such as 2/5; as auto/N; or as auto where the scheduler says how many there are"
    )
  }
}

public struct ShardNumber: Sendable, Hashable {
  /// From 1.
  public let index: Int
  /// How many there are, 1 to ``Manifests/Shard/maximumCount``.
  public let count: Int

  /// One of `count` shards.
  init(index: Int, count: Int) {
    self.index = index
    self.count = count
  }
}

/// Why the command line names no shard, as one sentence.
public struct ShardError: Error, Sendable, Hashable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

/// A number of digits and nothing else; nil for anything that is none, or that no array of tasks reaches.
func decimal(_ text: some StringProtocol) -> Int? {
  guard isNumber(text), text.utf8.count <= 9 else { return nil }
  return Int(text)
}

private func isNumber(_ text: some StringProtocol) -> Bool {
  !text.isEmpty && text.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
}
