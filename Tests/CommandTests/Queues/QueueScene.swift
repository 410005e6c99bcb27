import Foundation
import RedisClient
import TestOrigin
import TestSupport

/// A Redis server with an enqueued job, and workers that each have a folder and a cache.
struct QueueScene {
  let redis: RedisServer
  let job: JobFolder
  /// The options for the queue, except its address.
  var options: [String] = []
  private let workers = TemporaryDirectory()

  init(urls: [String], keys: String = "", redis: RedisServer? = nil) async throws {
    self.redis = if let redis { redis } else { try await RedisServer() }
    job = JobFolder(urls: urls, keys: "\(keys)\nreport: [{json: report.json}, {jsonl: rows.jsonl}]")
  }

  /// Starts `prewarm enqueue` in the folder of the job.
  func enqueue(_ arguments: String...) throws -> Command {
    try job.start(["enqueue", "job.yaml", "--queue", redis.url] + options + arguments)
  }

  /// Starts a worker with the cache of its number.
  func worker(_ number: Int = 0, _ arguments: String..., environment: [String: String?] = [:]) throws -> Command {
    let folder = workers.file("\(number)")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let own: [String: String?] = [
      "PREWARM_CACHE_DIR": "\(folder)/cache", "XDG_CACHE_HOME": nil, "NO_COLOR": nil, "http_proxy": nil,
    ]
    return try Command(
      BuiltCommand.path,
      ["worker", "--queue", redis.url] + options + arguments,
      environment: own.merging(environment) { $1 },
      workingDirectory: folder
    )
  }

  /// Waits for the end of the job, and reads its reports.
  func report(_ arguments: [String] = []) async throws -> Run {
    try job.finishedRun(
      try await job.start(["enqueue", "job.yaml", "--queue", redis.url, "--wait"] + options + arguments).wait()
    )
  }

  /// A connection to the server.
  func connect() throws -> RedisConnection { try RedisConnection(try RedisAddress(redis.url)) }

  /// The same job done by `prewarm run`, with the cache of the job's folder.
  func run() async throws -> Run {
    try job.finishedRun(try await job.prewarm("run", "job.yaml"))
  }
}

extension Run {
  /// The results that must be equal however a job is done: counts, failures and hosts without times.
  var facts: [String: String] {
    var facts = ["totals": "\(totals.sorted { $0.key < $1.key })", "kinds": "\(failuresByKind.sorted { $0.key < $1.key })"]
    for name in ["bytes", "failures_by_status", "formats", "duplicates"] { facts[name] = Self.text(report[name]) }
    let failures = (report["failures"] as? [[String: any Sendable]] ?? []).map { Self.text($0) }
    facts["failures"] = failures.sorted().joined(separator: "\n")
    let hosts = (report["hosts"] as? [[String: any Sendable]] ?? []).map { host in
      Self.text(host.filter { $0.key != "latency_ms" })
    }
    facts["hosts"] = hosts.joined(separator: "\n")
    facts["manifests"] = Self.text(report["manifests"])
    return facts
  }

  private static func text(_ value: Any?) -> String {
    guard let value, let data = try? JSONSerialization.data(withJSONObject: [value], options: .sortedKeys) else {
      return "nothing"
    }
    return String(decoding: data, as: UTF8.self)
  }
}
