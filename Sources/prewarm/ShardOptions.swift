import ArgumentParser
import Reports
import WarmJobs

/// Which part of the jobs' entries a run has.
struct ShardOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Run one of N parts of each job's entries, cut by the key shard-by: 2/5; or auto/5, the part that this task of an array \
      is, by JOB_COMPLETION_INDEX (Kubernetes), SLURM_ARRAY_TASK_ID, AWS_BATCH_JOB_ARRAY_INDEX, CI_NODE_INDEX (GitLab) or \
      PARALLEL_SEQ (GNU parallel); or auto, where Slurm, AWS Batch or GitLab say how many tasks there are. Join the JSON \
      reports with 'prewarm report merge'.
      """,
      valueName: "shard"
    )
  )
  var shard: String?

  /// The jobs, each with the entries of the shard alone; all of them where none is named.
  func parts(of jobs: [Job]) throws -> [Job] {
    guard let shard else { return jobs }
    let number = try Self.number(shard)
    return jobs.map { $0.sharded(number) }
  }

  /// The shard that `text` means here.
  static func number(_ text: String) throws -> ShardNumber {
    do throws(ShardError) {
      return try ShardRequest(text).number(environment: JobLoading.environment())
    } catch {
      throw CommandFailure(.misused, "\(error)")
    }
  }
}
