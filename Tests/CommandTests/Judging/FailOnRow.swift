import Glibc
import TestOrigin
import TestSupport

/// A run, its rules, and its exit status.
struct FailOnRow: Sendable {
  let name: String
  /// Numbers of good images, and of URLs that return 404, an HTML page, and an empty body.
  var good = 0
  var missing = 0
  var pages = 0
  /// Additional lines of the manifest.
  var lines: [String] = []
  /// Keys of the job file besides its name and manifests.
  var keys = ""
  /// Rules, as arguments of `--fail-on`.
  var rules: [String] = []
  /// More options of the judged run.
  var options: [String] = []
  /// The number of earlier runs of the same job, with all failures allowed.
  var earlierRuns = 0
  /// Replaces a plain run.
  var run: @Sendable (JobFolder, Origin, [String]) async throws -> Command.Result = { job, _, arguments in
    try await job.start(arguments).wait()
  }
  /// The exit status.
  let status: Int
  /// A part of the report; empty if it isn't checked.
  var says = ""

  /// The arguments of the judged run.
  var arguments: [String] { ["run", "job.yaml"] + rules.flatMap { ["--fail-on", $0] } + options }

  /// An origin that responds by the first part of the path.
  static func makeOrigin() throws -> Origin {
    let origin = try Origin()
    origin.setFallback { request in
      let parts = request.path.split(separator: "/")
      guard parts.count == 2, let number = Int(parts[1].prefix { $0 != "." }) else { return .status(404) }
      return switch parts[0] {
      case "good": .body(SampleImages.jpeg(number), type: "image/jpeg")
      case "page": .body(Array("<html><body>sorry</body></html>".utf8), type: "image/jpeg")
      default: .status(404)
      }
    }
    return origin
  }

  /// The job in its own folder.
  func makeJob(_ origin: Origin) -> JobFolder {
    let urls = [("good", good), ("missing", missing), ("page", pages)].flatMap { kind, count in
      (0..<count).map { origin.url("/\(kind)/\($0).jpg") }
    }
    return JobFolder(urls: urls + lines, keys: keys)
  }
}

extension FailOnRow {
  /// Holds every response until the origin has a request and another process has run, which takes longer than a
  /// millisecond.
  static let slowly: @Sendable (JobFolder, Origin, [String]) async throws -> Command.Result = { job, origin, arguments in
    let gate = origin.holdAll()
    let command = try job.start(arguments + JobFolder.patience)
    try await gate.waitForWaiting(1)
    _ = try await job.prewarm("--version")
    gate.open()
    return try await command.wait()
  }

  /// Never responds.
  static let stalled: @Sendable (JobFolder, Origin, [String]) async throws -> Command.Result = { job, origin, arguments in
    _ = origin.holdAll()
    return try await job.start(arguments + JobFolder.patience).wait()
  }

  /// Interrupts the run once a request is in flight.
  static let interrupted: @Sendable (JobFolder, Origin, [String]) async throws -> Command.Result = { job, origin, arguments in
    let gate = origin.holdAll()
    let command = try job.start(arguments + JobFolder.patience)
    try await gate.waitForWaiting(1)
    command.send(SIGINT)
    try await command.waitForError("finish")
    gate.open()
    return try await command.wait()
  }
}
