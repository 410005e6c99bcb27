import Glibc
import TestOrigin
import TestSupport

/// The scene of a fault: a job over two cached images, and whatever the fault adds to it.
final class FaultScene {
  let origin: Origin
  let job: JobFolder
  /// The URLs of the manifest.
  var urls: [String]
  /// Options of the run.
  var options: [String] = []
  /// Variables of the run, besides the usual ones.
  var environment: [String: String?] = [:]
  /// More origins, with gates.
  var others: [Origin] = []
  var gates: [Gate] = []
  /// Objects that must live as long as the run.
  var kept: [Any] = []

  /// The images that were stored before.
  let stored: [String]

  init(keys: String) async throws {
    origin = try Origin()
    for number in 1...2 {
      origin.set("/stored-\(number).jpg", .body(SampleImages.jpeg(number, padding: (number - 1) * 280_000), type: "image/jpeg"))
    }
    stored = [origin.url("/stored-1.jpg"), origin.url("/stored-2.jpg")]
    urls = stored
    job = JobFolder(urls: stored)
    guard try await job.runJob().totals["downloaded"] == 2 else { throw NoAnswer(description: "cannot warm the cache") }
    unlink(job.folder.file("report.json"))
    unlink(job.folder.file("rows.jsonl"))
    let patience = "timeout: 20s, connect-timeout: 5s, stall-timeout: 5s"
    job.folder.write(
      """
      version: 1
      name: faults
      manifests: [{path: urls.txt}]
      \(keys.contains("request:") ? keys : "request: {retries: 0, \(patience)}\n\(keys)")

      """,
      to: "job.yaml"
    )
  }

  /// Adds a URL with that behaviour, and returns it.
  @discardableResult
  func add(_ behaviour: Behaviour, at path: String = "/fault.jpg") -> String {
    origin.set(path, behaviour)
    urls.append(origin.url(path))
    return origin.url(path)
  }

  /// Starts the job with both reports.
  func start(input: Command.Input = .none, output: Command.Output = .captured) throws -> Command {
    if !urls.isEmpty { job.write(urls: urls) }
    return try Command(
      BuiltCommand.path,
      ["run", "job.yaml", "--report", "json=report.json", "--report", "jsonl=rows.jsonl"] + options,
      environment: job.environment.merging(environment) { $1 },
      workingDirectory: job.folder.path,
      input: input,
      output: output
    )
  }
}

/// One row of the fault table: a fault, and its expected result.
struct FaultRow: Sendable {
  /// The cause: `server`, `network`, `disk`, `input` or `signal`.
  let part: String
  /// The fault, in a few words.
  let fault: String
  /// Keys of the job.
  var keys = ""
  /// The outcome of the entry with the fault; nil if the run ends before it has one.
  var outcome: String?
  /// Its failure kind.
  var kind: String?
  /// The exit status of the run.
  var exit: Int
  /// A part of the entry's message; without an entry, of standard error or the report's warnings.
  let says: String
  /// Sets up the fault.
  let arrange: @Sendable (FaultScene) async throws -> Void
  /// Runs the job to its end, and does what has to be done meanwhile.
  var run: @Sendable (FaultScene) async throws -> Command.Result = { try await $0.start().wait() }
  /// Checks further expectations about the reports, the output or the origin.
  var check: @Sendable (FaultScene, Command.Result) throws -> Void = { _, _ in }

  var name: String { "\(part): \(fault)" }
}

extension FaultRow {
  /// A server's fault.
  static func server(
    _ fault: String,
    _ kind: String,
    _ says: String,
    keys: String = "",
    _ behaviour: Behaviour
  ) -> FaultRow {
    FaultRow(part: "server", fault: fault, keys: keys, outcome: "failed", kind: kind, exit: 2, says: says) { $0.add(behaviour) }
  }

  /// A URL that can't be fetched; `make` returns it after setting up its server.
  static func network(
    _ fault: String,
    _ kind: String,
    _ says: String,
    keys: String = "",
    _ make: @escaping @Sendable (FaultScene) async throws -> String
  ) -> FaultRow {
    FaultRow(part: "network", fault: fault, keys: keys, outcome: "failed", kind: kind, exit: 2, says: says) { scene in
      scene.urls.append(try await make(scene))
    }
  }

  /// An invalid file or line.
  static func input(
    _ fault: String,
    exit: Int,
    _ says: String,
    outcome: String? = nil,
    kind: String? = nil,
    keys: String = "",
    _ arrange: @escaping @Sendable (FaultScene) async throws -> Void
  ) -> FaultRow {
    FaultRow(part: "input", fault: fault, keys: keys, outcome: outcome, kind: kind, exit: exit, says: says, arrange: arrange)
  }
}
