import Lists

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
  /// The variable with the ``index``.
  private let variable: String
  /// From 1.
  private let index: Int
  /// The number of tasks; nil if the scheduler doesn't set it.
  private let count: Count?

  private struct Count {
    var number: Int
    var variable: String
    /// Whether the scheduler sets it. Otherwise it is derived from the last task's number, which is the same if some
    /// are left out.
    var isExplicit = true
  }

  /// Schedulers by the variable with the task's index.
  private enum Scheduler: String, CaseIterable {
    case kubernetes = "JOB_COMPLETION_INDEX"
    case slurm = "SLURM_ARRAY_TASK_ID"
    case awsBatch = "AWS_BATCH_JOB_ARRAY_INDEX"
    case gitLab = "CI_NODE_INDEX"
    case gnuParallel = "PARALLEL_SEQ"
  }

  /// Creates the task of the one scheduler whose variable is set; throws if there are none or several.
  init(environment: [String: String]) throws(ShardError) {
    let (scheduler, variables) = try Self.scheduler(environment)
    self =
      switch scheduler {
      case .kubernetes, .gnuParallel:
        try Self.counted(scheduler.rawValue, from: scheduler == .kubernetes ? 0 : 1, countVariable: nil, variables)
      case .awsBatch: try Self.counted(scheduler.rawValue, from: 0, countVariable: "AWS_BATCH_JOB_ARRAY_SIZE", variables)
      case .gitLab: try Self.counted(scheduler.rawValue, from: 1, countVariable: "CI_NODE_TOTAL", variables)
      case .slurm: try Self.slurm(variables)
      }
  }

  /// The number of the plan's shard for this task: that of the task, counted from 1. So an array may name some shards only, such as
  /// Slurm's `--array=3,7`.
  static func number(inPlan environment: [String: String]) throws(ShardError) -> Int {
    let (scheduler, variables) = try scheduler(environment)
    let number = try number(scheduler.rawValue, variables)
    switch scheduler {
    case .kubernetes, .awsBatch: return number + 1
    case .gitLab, .gnuParallel: return number
    case .slurm: return variables["SLURM_ARRAY_TASK_MIN"] == "0" ? number + 1 : number
    }
  }

  /// The one scheduler whose variable is set, and the variables with a value.
  private static func scheduler(_ environment: [String: String]) throws(ShardError) -> (Scheduler, [String: String]) {
    let variables = environment.filter { !$0.value.isEmpty }
    let found = Scheduler.allCases.filter { variables[$0.rawValue] != nil }
    guard let scheduler = found.first else {
      let names = Scheduler.allCases.map(\.rawValue).joined(separator: ", ")
      throw ShardError("cannot find the index of this task: none of \(names) is set; write the shard's number")
    }
    guard found.count == 1 else {
      let names = found.map(\.rawValue).joined(separator: " and ")
      throw ShardError("\(names) are both set, so the scheduler is ambiguous; write the shard's number")
    }
    return (scheduler, variables)
  }

  private init(variable: String, index: Int, count: Count?) {
    self.variable = variable
    self.index = index
    self.count = count
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

  private static func counted(
    _ variable: String,
    from first: Int,
    countVariable: String?,
    _ variables: [String: String]
  ) throws(ShardError) -> ArrayTask {
    let index = try number(variable, variables)
    guard index >= first else { throw ShardError("\(variable) is \(index), but tasks are numbered from \(first)") }
    var count: Count?
    if let countVariable, variables[countVariable] != nil {
      count = Count(number: try number(countVariable, variables), variable: countVariable)
    }
    return ArrayTask(variable: variable, index: index - first + 1, count: count)
  }

  /// Task numbers of an array may start anywhere and have a step; irregular ones (`--array=1,3,7`) are rejected.
  private static func slurm(_ variables: [String: String]) throws(ShardError) -> ArrayTask {
    let name = "SLURM_ARRAY_TASK_ID"
    let task = try number(name, variables)
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
    return ArrayTask(variable: name, index: (task - first) / step + 1, count: count)
  }

  private static func number(_ name: String, _ variables: [String: String]) throws(ShardError) -> Int {
    guard let text = variables[name] else { throw ShardError("\(name) isn't set; write the shard's number") }
    guard let number = decimal(text) else {
      throw ShardError("\(name) is '\(text.prefix(40))', which isn't a number; write the shard's number")
    }
    return number
  }
}
