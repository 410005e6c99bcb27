import Lists

/// The shard of a job that the command line selects: `2/5`, `auto/5` or `auto`.
package enum ShardRequest: Sendable, Hashable {
  /// The shard with that index, from 1.
  case numbered(ShardNumber)
  /// The scheduler's index of this task; if `count` is nil, the scheduler's count, too.
  case automatic(count: Int?)

  /// Parses `I/N`, `auto/N` or `auto`.
  package init(_ text: String) throws(ShardError) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let count = parts.count > 1 ? try Self.count(parts[1], of: text) : nil
    if parts[0] == "auto" {
      self = .automatic(count: count)
      return
    }
    guard let count, isNumber(parts[0]) else { throw Self.unreadable(text) }
    guard let index = decimal(parts[0]), (1...count).contains(index) else {
      throw ShardError("shards are numbered from 1 to \(count)")
    }
    self = .numbered(ShardNumber(index: index, count: count))
  }

  /// The selected shard in a process with these variables.
  package func number(environment: [String: String]) throws(ShardError) -> ShardNumber {
    switch self {
    case .numbered(let number): number
    case .automatic(let count): try ArrayTask(environment: environment).shard(of: count)
    }
  }

  private static func count(_ part: Substring, of text: String) throws(ShardError) -> Int {
    guard isNumber(part) else { throw unreadable(text) }
    guard let count = decimal(part), (1...Shard.maximumCount).contains(count) else {
      throw ShardError("a job may have 1 to \(Shard.maximumCount) shards")
    }
    return count
  }

  private static func unreadable(_ text: String) -> ShardError {
    ShardError("write it as 2/5, as auto/5, or as auto if the scheduler sets the number of tasks")
  }
}

package struct ShardNumber: Sendable, Hashable {
  /// From 1.
  package let index: Int
  /// The number of shards, 1 to ``Shard/maximumCount``.
  package let count: Int

  /// Creates one of `count` shards.
  init(index: Int, count: Int) {
    self.index = index
    self.count = count
  }

  /// The shard of a plan with that number, or for `auto` that of this task of an array; nil for a task beyond the last shard.
  package init?(_ text: String, ofPlan count: Int, environment: [String: String]) throws(ShardError) {
    let index = text == "auto" ? try ArrayTask.number(inPlan: environment) : decimal(text) ?? 0
    if text == "auto", index > count { return nil }
    guard (1...count).contains(index) else { throw ShardError("shards are numbered from 1 to \(count)") }
    self.init(index: index, count: count)
  }
}

/// The reason why the command line's shard is invalid, as one sentence.
package struct ShardError: Error, Sendable, Hashable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

/// A number of digits only; nil for any other text, and for numbers beyond any array of tasks.
func decimal(_ text: some StringProtocol) -> Int? {
  guard isNumber(text), text.utf8.count <= 9 else { return nil }
  return Int(text)
}

private func isNumber(_ text: some StringProtocol) -> Bool {
  !text.isEmpty && text.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
}
