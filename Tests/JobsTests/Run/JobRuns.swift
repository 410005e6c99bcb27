import Foundation
import ImageDownloading
import ImageManaging
import Reports
import TestOrigin
import TestSupport
@testable import Jobs

/// A folder for jobs, with a cache and reports.
struct JobRuns {
  let folder = TemporaryDirectory()

  /// A job over these URLs, with `keys` appended.
  func job(urls: [String], manifest: String = "", keys: String = "") throws -> Job {
    let list = urls.map { "\"\($0)\"" }.joined(separator: ", ")
    let text = """
      version: 1
      name: test
      manifests: [{urls: [\(list)]\(manifest)}]
      cache: {directory: \(folder.file("cache"))}
      report: [{jsonl: rows.jsonl}, {json: report.json}]
      \(keys)

      """
    var job = try JobFile.parse(Array(text.utf8), path: folder.file("job.yaml"), overrides: [], environment: [:])
    // A test may hold requests for long on a busy machine.
    job.request.download.timeout = .unlimited
    job.request.download.stallTimeout = .unlimited
    job.request.download.retries = 0
    return job
  }

  /// A row of the JSON Lines report.
  struct Row: Decodable {
    let url: String
    let outcome: String
    let variant: String?
    let edge: String?
    let kind: String?
    let message: String?
    let remoteCache: String?
    let format: String?
    let warnings: [String]?
  }

  /// Runs a job to its end.
  func run(
    _ job: Job,
    by configuration: ImageManager.Configuration = ImageManager.Configuration()
  ) throws -> (report: FinishedReport, rows: [Row], json: [String: any Sendable]) {
    let prepared = try PreparedJob(job)
    let manager = try ImageManager(configuration)
    defer { manager.blocking.shutDown() }
    let report = JobRunner(manager: manager, version: "0", control: RunControl()).run(prepared)
    for error in prepared.reports.write(report) { throw error }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let rows = try (folder.read("rows.jsonl") ?? []).split(separator: UInt8(ascii: "\n")).map {
      try decoder.decode(Row.self, from: Data($0))
    }
    let json = try JSONSerialization.jsonObject(with: Data(folder.read("report.json") ?? [])) as? [String: any Sendable] ?? [:]
    return (report, rows, json)
  }
}

/// Runs a job on a thread of its own, since a run blocks its thread.
func runOnThread(_ job: Job, control: RunControl = RunControl()) async throws -> FinishedReport {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread {
      continuation.resume(
        with: Result {
          let manager = try ImageManager(ImageManager.Configuration())
          defer { manager.blocking.shutDown() }
          return JobRunner(manager: manager, version: "1", control: control).run(try PreparedJob(job))
        }
      )
    }
  }
}

extension Job.Request.Variant {
  /// One with a single field.
  init(_ name: String, _ field: String, _ value: String) {
    self.init(name: name, headers: [HeaderField(field, value)])
  }
}

extension FinishedReport {
  /// The counts of the hosts' remote caches.
  var remoteCaches: [RemoteCacheCount] { hosts.flatMap(\.remoteCaches) }
}

/// An origin that sends PNG to clients that accept only that, and else JPEG; each response depends on `Accept`.
func makeNegotiatingOrigin(hosts: Int = 1) throws -> Origin {
  let origin = try Origin(addresses: Array(repeating: .ipv4, count: hosts))
  origin.setFallback { request in
    let isPNG = request.headers["Accept"] == "image/png"
    let (bytes, type) = isPNG ? (SampleImages.png(1), "image/png") : (SampleImages.jpeg(1), "image/jpeg")
    return .body(bytes, type: type, headers: ["Vary": "Accept", "X-Cache": request.sequence % 4 == 0 ? "HIT" : "MISS"])
  }
  return origin
}
