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

  init(index: Int, count: Int) { (self.index, self.count) = (index, count) }

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

/// The task of an array that this process runs, from the variables of its scheduler.
///
/// | scheduler | index | from | count | |
/// |---|---|---|---|---|
/// | Kubernetes, Indexed Job | `JOB_COMPLETION_INDEX` | 0 | | Kubernetes' documentation, "Jobs", "Completion mode" |
/// | Slurm, array | `SLURM_ARRAY_TASK_ID` | `…_MIN`, by `…_STEP` | `…_COUNT` | sbatch(1), "Output environment variables" |
/// | AWS Batch, array job | `AWS_BATCH_JOB_ARRAY_INDEX` | 0 | `…_SIZE` | AWS Batch's user guide, "Job environment variables" |
/// | GitLab CI, `parallel` | `CI_NODE_INDEX` | 1 | `CI_NODE_TOTAL` | GitLab's "Predefined CI/CD variables" |
/// | GNU parallel | `PARALLEL_SEQ` | 1 | | parallel(1), "Environment variables" |
///
/// An empty variable counts as unset.
struct ArrayTask {
  private let variable: String
  /// From 1.
  private let index: Int
  private let count: Count?

  private struct Count {
    var number: Int
    var variable: String
    /// Whether the scheduler sets it. Otherwise it is derived from the last task's number, which is the same if some
    /// are left out.
    var isExplicit = true
  }

  private struct Scheduler {
    /// The variable with the task's index.
    let variable: String
    /// The index of the first task; for Slurm, if its variable isn't 0.
    let first: Int
    var count: String?
  }

  private static let slurm = "SLURM_ARRAY_TASK_ID"
  private static let schedulers = [
    Scheduler(variable: "JOB_COMPLETION_INDEX", first: 0), Scheduler(variable: slurm, first: 1),
    Scheduler(variable: "AWS_BATCH_JOB_ARRAY_INDEX", first: 0, count: "AWS_BATCH_JOB_ARRAY_SIZE"),
    Scheduler(variable: "CI_NODE_INDEX", first: 1, count: "CI_NODE_TOTAL"), Scheduler(variable: "PARALLEL_SEQ", first: 1),
  ]

  /// Creates the task of the one scheduler whose variable is set; throws if there are none or several.
  init(environment: [String: String]) throws(ShardError) {
    let (scheduler, variables) = try Self.scheduler(environment)
    variable = scheduler.variable
    let task = try Self.number(variable, variables)
    if variable == Self.slurm {
      (index, count) = try Self.slurm(task, variables)
      return
    }
    let first = scheduler.first
    guard task >= first else { throw ShardError("\(variable) is \(task), but tasks are numbered from \(first)") }
    index = task - first + 1
    count = try scheduler.count.flatMap { name throws(ShardError) in
      variables[name] == nil ? nil : Count(number: try Self.number(name, variables), variable: name)
    }
  }

  /// The number of the plan's shard for this task: that of the task, counted from 1. So an array may name some shards only, such as
  /// Slurm's `--array=3,7`.
  static func number(inPlan environment: [String: String]) throws(ShardError) -> Int {
    let (scheduler, variables) = try scheduler(environment)
    let isFromZero = scheduler.first == 0 || scheduler.variable == slurm && variables["SLURM_ARRAY_TASK_MIN"] == "0"
    return try number(scheduler.variable, variables) + (isFromZero ? 1 : 0)
  }

  /// The one scheduler whose variable is set, and the variables with a value.
  private static func scheduler(_ environment: [String: String]) throws(ShardError) -> (Scheduler, [String: String]) {
    let variables = environment.filter { !$0.value.isEmpty }
    let found = schedulers.filter { variables[$0.variable] != nil }
    guard let scheduler = found.first else {
      let names = schedulers.map(\.variable).joined(separator: ", ")
      throw ShardError("cannot find the index of this task: none of \(names) is set; write the shard's number")
    }
    guard found.count == 1 else {
      let names = found.map(\.variable).joined(separator: " and ")
      throw ShardError("\(names) are both set, so the scheduler is ambiguous; write the shard's number")
    }
    return (scheduler, variables)
  }

  /// Returns the task's shard of `count`, by default of as many as the scheduler sets.
  func shard(of count: Int?) throws(ShardError) -> ShardNumber {
    if let count, let own = self.count, own.number != count {
      throw ShardError("\(own.variable) is \(own.number); both must be equal")
    }
    guard let count = count ?? self.count.flatMap({ $0.isExplicit ? $0.number : nil }) else {
      throw ShardError("\(variable) doesn't show the number of shards; write it as auto/5")
    }
    guard (1...Shard.maximumCount).contains(count) else {
      throw ShardError("there are \(count) tasks, but a job may have 1 to \(Shard.maximumCount) shards")
    }
    guard index <= count else {
      throw ShardError("this is task \(index) by \(variable), more than \(count); use a larger number of shards")
    }
    return ShardNumber(index: index, count: count)
  }

  /// Task numbers of an array may start anywhere and have a step; irregular ones (`--array=1,3,7`) are rejected.
  private static func slurm(_ task: Int, _ variables: [String: String]) throws(ShardError) -> (index: Int, count: Count?) {
    let first = try number("SLURM_ARRAY_TASK_MIN", variables)
    let step = variables["SLURM_ARRAY_TASK_STEP"] == nil ? 1 : try number("SLURM_ARRAY_TASK_STEP", variables)
    let last = variables["SLURM_ARRAY_TASK_MAX"] == nil ? nil : try number("SLURM_ARRAY_TASK_MAX", variables)
    var count: Count?
    if variables["SLURM_ARRAY_TASK_COUNT"] != nil {
      count = Count(number: try number("SLURM_ARRAY_TASK_COUNT", variables), variable: "SLURM_ARRAY_TASK_COUNT")
    } else if let last, step > 0 {
      count = Count(number: (last - first) / step + 1, variable: "SLURM_ARRAY_TASK_MAX", isExplicit: false)
    }
    var isRegular = step > 0 && task >= first && (task - first) % step == 0
    if let last, let count { isRegular = isRegular && task <= last && last == first + (count.number - 1) * step }
    guard isRegular else {
      throw ShardError("task \(task) isn't in a regular array from \(first) with step \(step); write the shard's number")
    }
    return ((task - first) / step + 1, count)
  }

  private static func number(_ name: String, _ variables: [String: String]) throws(ShardError) -> Int {
    guard let text = variables[name] else { throw ShardError("\(name) isn't set; write the shard's number") }
    guard let number = decimal(text) else {
      throw ShardError("\(name) is '\(text.prefix(40))', which isn't a number; write the shard's number")
    }
    return number
  }
}
