import Testing

@testable import WarmJobs

/// Which shard the command line and the scheduler's variables mean.
@Suite struct ShardRequestTests {
  private func meaning(_ text: String, _ environment: [String: String] = [:]) -> String {
    do throws(ShardError) {
      let number = try ShardRequest(text).number(environment: environment)
      return "\(number.index)/\(number.count)"
    } catch {
      return "\(error)"
    }
  }

  @Test("the requested shard is used", arguments: ["1/1", "2/5", "65536/65536", "auto/3", "auto"]) func whatIsAskedForIsGot(
    text: String
  ) {
    let expected = ["auto/3": "2/3", "auto": "2/7"][text] ?? text
    #expect(meaning(text, ["CI_NODE_INDEX": "2", "CI_NODE_TOTAL": text == "auto/3" ? "3" : "7"]) == expected)
  }

  @Test(
    "an invalid shard is rejected",
    arguments: [
      ("", "write it as I/N"), ("5", "write it as I/N"), ("/", "write it as I/N"), ("2/", "write it as I/N"),
      ("a/5", "write it as I/N"), ("auto/", "or as auto where the scheduler says"),
      ("0/5", "shards are counted from 1 to 5"), ("6/5", "shards are counted from 1 to 5"), ("1/65537", "1 to 65536"),
      ("1/0", "1 to 65536"), ("+1/5", "write it as I/N"), ("1/5/2", "such as 2/5; as auto/N"), ("auto/x", "write it as I/N"),
      ("AUTO", "write it as I/N"), ("99999999999999999999/5", "shards are counted from 1 to 5"),
      ("1/99999999999999999999", "1 to 65536"),
    ]
  )
  func whatIsNoShardIsRefused(text: String, part: String) {
    #expect(meaning(text).hasPrefix("--shard \(text): ") && meaning(text).contains(part), "\(meaning(text))")
  }

  /// Variables, `--shard`, and what it comes to, or a part of the sentence.
  static let tasks: [([String: String], String, String)] = [
    (["JOB_COMPLETION_INDEX": "0"], "auto/3", "1/3"), (["JOB_COMPLETION_INDEX": "2"], "auto/3", "3/3"),
    (["JOB_COMPLETION_INDEX": "3"], "auto/3", "by JOB_COMPLETION_INDEX this is task 4, which is beyond 3"),
    (["JOB_COMPLETION_INDEX": "0"], "auto", "JOB_COMPLETION_INDEX does not tell how many shards there are; write it as auto/5"),
    (["PARALLEL_SEQ": "3"], "auto/3", "3/3"),
    (["PARALLEL_SEQ": "0"], "auto/3", "PARALLEL_SEQ is 0, and tasks are counted from 1"),
    (["PARALLEL_SEQ": "3"], "auto", "PARALLEL_SEQ does not tell"),
    (["AWS_BATCH_JOB_ARRAY_INDEX": "9", "AWS_BATCH_JOB_ARRAY_SIZE": "10"], "auto", "10/10"),
    (["AWS_BATCH_JOB_ARRAY_INDEX": "9"], "auto/10", "10/10"), (["AWS_BATCH_JOB_ARRAY_INDEX": "9"], "auto", "does not tell"),
    (["CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"], "auto/4", "1/4"),
    (["CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"], "auto/5", "CI_NODE_TOTAL says that there are 4; both must be the same"),
    (["CI_NODE_INDEX": "5", "CI_NODE_TOTAL": "4"], "auto", "this is task 5, which is beyond 4"),
    (["CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "0"], "auto", "there are 0 tasks"),
    (slurm("4", min: "4", max: "8", count: "5"), "auto", "1/5"), (slurm("8", min: "4", max: "8", count: "5"), "auto", "5/5"),
    (slurm("7", min: "1", max: "9", count: "5", step: "2"), "auto/5", "4/5"),
    (slurm("6", min: "1", max: "9", count: "5", step: "2"), "auto", "task 6 is no step of 2 from 1"),
    (slurm("3", min: "1", max: "7", count: "3"), "auto", "in an array without gaps"),
    (slurm("3", min: "4", max: "7", count: "4"), "auto", "in an array without gaps"),
    (["SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "1"], "auto/5", "3/5"),
    // Without a count: 1, 3 and 7 are no 3 shards, and 7 only if none is left out.
    (slurm("3", min: "1", max: "7", count: nil), "auto/3", "SLURM_ARRAY_TASK_MAX says that there are 7; both must be the same"),
    (slurm("3", min: "1", max: "7", count: nil), "auto/7", "3/7"),
    (slurm("3", min: "1", max: "7", count: nil), "auto", "SLURM_ARRAY_TASK_ID does not tell how many shards there are"),
    (slurm("5", min: "1", max: "7", count: nil, step: "2"), "auto/4", "3/4"),
    (slurm("4", min: "1", max: "7", count: nil, step: "2"), "auto/4", "task 4 is no step of 2 from 1"),
    (slurm("3", min: "1", max: "8", count: nil, step: "2"), "auto/4", "in an array without gaps"),
    (slurm("9", min: "1", max: "7", count: nil), "auto/7", "in an array without gaps"),
    (slurm("9", min: "9", max: "7", count: nil), "auto/7", "in an array without gaps"),
    (["SLURM_ARRAY_TASK_ID": "6", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "5"], "auto", "which is beyond 5"),
    (["SLURM_ARRAY_TASK_ID": "3"], "auto/5", "SLURM_ARRAY_TASK_MIN is not set"),
    (["SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_STEP": "0"], "auto/5", "no step of 0"),
    ([:], "auto", "none of JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID"), (["CI_NODE_INDEX": ""], "auto/2", "none of"),
    (["CI_NODE_INDEX": "", "PARALLEL_SEQ": "2"], "auto/2", "2/2"),
    (["JOB_COMPLETION_INDEX": "-1"], "auto/2", "JOB_COMPLETION_INDEX is '-1', and no number"),
    (["PARALLEL_SEQ": "two"], "auto/2", "PARALLEL_SEQ is 'two', and no number"),
    (["CI_NODE_INDEX": "1", "PARALLEL_SEQ": "2"], "auto/2", "CI_NODE_INDEX and PARALLEL_SEQ are set, and only one can be meant"),
  ]

  private static func slurm(_ id: String, min: String, max: String, count: String?, step: String? = nil) -> [String: String] {
    var variables = [
      "SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_MIN": min, "SLURM_ARRAY_TASK_MAX": max,
    ]
    variables["SLURM_ARRAY_TASK_COUNT"] = count
    variables["SLURM_ARRAY_TASK_STEP"] = step
    return variables
  }

  @Test("the scheduler's variables give the task's number", arguments: tasks) func theSchedulerSaysWhichTaskThisIs(
    environment: [String: String],
    text: String,
    expected: String
  ) {
    let meaning = meaning(text, environment)
    #expect(expected.contains(" ") ? meaning.contains(expected) : meaning == expected, "\(meaning)")
  }

  @Test("a numbered shard ignores the scheduler") func aNumberedShardAsksNoScheduler() {
    #expect(meaning("2/5", ["CI_NODE_INDEX": "x", "PARALLEL_SEQ": "9"]) == "2/5")
  }
}
