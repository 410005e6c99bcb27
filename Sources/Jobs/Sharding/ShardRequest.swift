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
    let numbers = parts.map(decimal)
    let isAuto = parts[0] == "auto"
    guard isAuto || parts.count > 1, numbers.dropFirst(isAuto ? 1 : 0).allSatisfy({ $0 != nil }) else {
      throw ShardError("write it as 2/5, as auto/5, or as auto if the scheduler sets the number of tasks")
    }
    let count = parts.count > 1 ? numbers[1] : nil
    if let count, !(1...Shard.maximumCount).contains(count) {
      throw ShardError("a job may have 1 to \(Shard.maximumCount) shards")
    }
    if let index = numbers[0], let count {
      guard (1...count).contains(index) else { throw ShardError("shards are numbered from 1 to \(count)") }
      self = .numbered(ShardNumber(index: index, count: count))
    } else {
      self = .automatic(count: count)
    }
  }

  package func number(environment: [String: String]) throws(ShardError) -> ShardNumber {
    switch self {
    case .numbered(let number): number
    case .automatic(let count): try ArrayTask(environment: environment).shard(of: count)
    }
  }
}

package struct ShardNumber: Sendable, Hashable {
  /// From 1.
  package let index: Int
  /// The number of shards, 1 to ``Shard/maximumCount``.
  package let count: Int

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

/// A number of digits only, at most a billion, which is beyond any array of tasks; nil for any other text.
func decimal(_ text: some StringProtocol) -> Int? {
  guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
  return min(Int(text) ?? .max, 1_000_000_000)
}
