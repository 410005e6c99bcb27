import TestSupport
import Testing

@testable import Jobs

/// The shard selected by the command line and the scheduler's variables.
@Suite struct ShardRequestTests {
  private func meaning(_ text: String, _ environment: [String: String] = [:]) -> String {
    do throws(ShardError) {
      let number = try ShardRequest(text).number(environment: environment)
      return "\(number.index)/\(number.count)"
    } catch {
      return "\(error)"
    }
  }

  @Test(arguments: ["1/1", "2/5", "65536/65536", "auto/3", "auto"]) func `the requested shard is used`(text: String) {
    let expected = ["auto/3": "2/3", "auto": "2/7"][text] ?? text
    #expect(meaning(text, ["CI_NODE_INDEX": "2", "CI_NODE_TOTAL": text == "auto/3" ? "3" : "7"]) == expected)
  }

  @Test(
    arguments: [
      "", "5", "/", "2/", "a/5", "auto/", "0/5", "6/5", "1/65537", "1/0", "+1/5", "1/5/2", "auto/x", "AUTO",
      "99999999999999999999/5", "1/99999999999999999999",
    ]
  )
  func `an invalid shard is rejected`(text: String) {
    expectGolden(meaning(text), for: text)
  }

  /// Variables, `--shard`, and the resulting shard, or nil for an error.
  static let tasks: [([String: String], String, String?)] = [
    (["JOB_COMPLETION_INDEX": "0"], "auto/3", "1/3"), (["JOB_COMPLETION_INDEX": "2"], "auto/3", "3/3"),
    (["JOB_COMPLETION_INDEX": "3"], "auto/3", nil),
    (["JOB_COMPLETION_INDEX": "0"], "auto", nil),
    (["PARALLEL_SEQ": "3"], "auto/3", "3/3"),
    (["PARALLEL_SEQ": "0"], "auto/3", nil),
    (["PARALLEL_SEQ": "3"], "auto", nil),
    (["AWS_BATCH_JOB_ARRAY_INDEX": "9", "AWS_BATCH_JOB_ARRAY_SIZE": "10"], "auto", "10/10"),
    (["AWS_BATCH_JOB_ARRAY_INDEX": "9"], "auto/10", "10/10"), (["AWS_BATCH_JOB_ARRAY_INDEX": "9"], "auto", nil),
    (["CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"], "auto/4", "1/4"),
    (["CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"], "auto/5", nil),
    (["CI_NODE_INDEX": "5", "CI_NODE_TOTAL": "4"], "auto", nil),
    (["CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "0"], "auto", nil),
    (slurm("4", min: "4", max: "8", count: "5"), "auto", "1/5"), (slurm("8", min: "4", max: "8", count: "5"), "auto", "5/5"),
    (slurm("7", min: "1", max: "9", count: "5", step: "2"), "auto/5", "4/5"),
    (slurm("6", min: "1", max: "9", count: "5", step: "2"), "auto", nil),
    (slurm("3", min: "1", max: "7", count: "3"), "auto", nil),
    (slurm("3", min: "4", max: "7", count: "4"), "auto", nil),
    (["SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "1"], "auto/5", "3/5"),
    // Without a count: 1, 3 and 7 aren't 3 shards, and 7 shards only if none is left out.
    (slurm("3", min: "1", max: "7", count: nil), "auto/3", nil),
    (slurm("3", min: "1", max: "7", count: nil), "auto/7", "3/7"),
    (slurm("3", min: "1", max: "7", count: nil), "auto", nil),
    (slurm("5", min: "1", max: "7", count: nil, step: "2"), "auto/4", "3/4"),
    (slurm("4", min: "1", max: "7", count: nil, step: "2"), "auto/4", nil),
    (slurm("3", min: "1", max: "8", count: nil, step: "2"), "auto/4", nil),
    (slurm("9", min: "1", max: "7", count: nil), "auto/7", nil),
    (slurm("9", min: "9", max: "7", count: nil), "auto/7", nil),
    (["SLURM_ARRAY_TASK_ID": "6", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "5"], "auto", nil),
    (["SLURM_ARRAY_TASK_ID": "3"], "auto/5", nil),
    (["SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_STEP": "0"], "auto/5", nil),
    ([:], "auto", nil), (["CI_NODE_INDEX": ""], "auto/2", nil),
    (["CI_NODE_INDEX": "", "PARALLEL_SEQ": "2"], "auto/2", "2/2"),
    (["JOB_COMPLETION_INDEX": "-1"], "auto/2", nil),
    (["PARALLEL_SEQ": "two"], "auto/2", nil),
    (["CI_NODE_INDEX": "1", "PARALLEL_SEQ": "2"], "auto/2", nil),
  ]

  private static func slurm(_ id: String, min: String, max: String, count: String?, step: String? = nil) -> [String: String] {
    var variables = ["SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_MIN": min, "SLURM_ARRAY_TASK_MAX": max]
    variables["SLURM_ARRAY_TASK_COUNT"] = count
    variables["SLURM_ARRAY_TASK_STEP"] = step
    return variables
  }

  @Test(arguments: tasks) func `the scheduler's variables give the task's number`(
    environment: [String: String],
    text: String,
    expected: String?
  ) {
    let meaning = meaning(text, environment)
    guard let expected else {
      return expectGolden(meaning, for: environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value) " }.joined() + text)
    }
    #expect(meaning == expected)
  }

  @Test func `a numbered shard ignores the scheduler`() {
    #expect(meaning("2/5", ["CI_NODE_INDEX": "x", "PARALLEL_SEQ": "9"]) == "2/5")
  }
}
