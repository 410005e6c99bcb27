public import WarmJobs

extension JobOverride {
  /// Keys that the queue was filled by, or its report is made by: a worker has no part in them.
  private static let keysOfTheQueue: Set<String> = [
    "version", "name", "description", "manifests", "report", "fail-on", "shard-by", "prefetch.order", "prefetch.deadline",
  ]

  /// Why a worker cannot set this, as one sentence; nil where it can.
  public var refusalByWorkers: String? {
    let names = path.split(separator: ".").map(String.init)
    guard !Self.keysOfTheQueue.isDisjoint(with: [names.first ?? "", names.prefix(2).joined(separator: ".")]) else { return nil }
    return "\(label): a worker has no part in that; set it where the job is put into the queue, with prewarm enqueue"
  }
}
