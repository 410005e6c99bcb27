import Foundation
import Glibc
import TestOrigin
import TestSupport
import Testing

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

  /// An origin of those, and a job that has cached them.
  private static let cached = Task {
    let origin = try Origin(images)
    return (origin, try await JobFolder.warmed(urls: images.keys.sorted().map { origin.url($0) }))
  }
  private static let images: [String: Behaviour] = ["/stored-1.jpg": .jpeg(1), "/stored-2.jpg": .jpeg(2, padding: 280_000)]

  init(keys: String) async throws {
    let (server, warmed) = try await Self.cached.value
    // It serves the stored images, too, for edges.
    origin = try Origin(Self.images)
    stored = Self.images.keys.sorted().map { server.url($0) }
    urls = stored
    let brief = "request: {retries: 0, timeout: 20s, connect-timeout: 5s, stall-timeout: 5s}\n"
    job = JobFolder(urls: stored, keys: "\(keys.contains("request:") ? "" : brief)\(keys)")
    try FileManager.default.copyItem(atPath: warmed.cacheDirectory, toPath: job.cacheDirectory)
  }

  /// Adds a URL with that behaviour, and returns it.
  @discardableResult
  func add(_ behaviour: Behaviour, at path: String = "/fault.jpg") -> String {
    origin.set(path, behaviour)
    urls.append(origin.url(path))
    return origin.url(path)
  }

  /// Keeps an object as long as the run.
  func keep<Kept>(_ object: Kept) -> Kept {
    kept.append(object)
    return object
  }

  /// Sets a key of the run.
  func set(_ setting: String) { options += ["--set", setting] }

  /// Starts the job with both reports.
  func start(input: Command.Input = .none, output: Command.Output = .captured, after script: String? = nil) throws -> Command {
    if !urls.isEmpty { job.write(urls: urls) }
    return try job.start(JobFolder.run + options, environment: environment, input: input, output: output, after: script)
  }
}

/// How a run with a fault must end.
struct FaultEnd: Sendable {
  /// The outcome of the entry with the fault; nil if the run ends before it has one.
  var outcome: String?
  /// Its failure kind.
  var kind: String?
  /// The exit status of the run.
  var exit: Int
  /// A part of the entry's message; without an entry, of standard error or the report's warnings.
  var says = ""

  static let downloaded = downloaded()
  static func downloaded(exit: Int = 0, _ says: String = "") -> Self { Self(outcome: "downloaded", exit: exit, says: says) }
  static func failed(_ kind: String, _ says: String = "", exit: Int = 2) -> Self {
    Self(outcome: "failed", kind: kind, exit: exit, says: says)
  }
  static func cancelled(_ kind: String? = nil, _ says: String = "", exit: Int = 1) -> Self {
    Self(outcome: "cancelled", kind: kind, exit: exit, says: says)
  }
  static func ended(_ exit: Int, _ says: String = "") -> Self { Self(exit: exit, says: says) }
}

typealias FaultScript = @Sendable (FaultScene) async throws -> Void

/// One row of the fault table: a fault, and its expected result.
struct FaultRow: Sendable {
  /// The cause (`server`, `network`, `disk`, `input` or `signal`), and the fault in a few words.
  let name: String
  let end: FaultEnd
  /// Keys of the job.
  let keys: String
  /// Sets up the fault.
  let arrange: FaultScript
  /// Runs the job to its end, and does what has to be done meanwhile.
  let run: @Sendable (FaultScene) async throws -> Command.Result
  /// Checks further expectations about the reports, the output or the origin.
  let check: (@Sendable (FaultScene, Run) throws -> Void)?

  init(
    _ part: String,
    _ fault: String,
    _ end: FaultEnd,
    keys: String = "",
    arrange: @escaping FaultScript,
    run: @escaping @Sendable (FaultScene) async throws -> Command.Result = { try await $0.start().wait() },
    check: (@Sendable (FaultScene, Run) throws -> Void)? = nil
  ) {
    (self.end, self.keys, self.arrange, self.run, self.check) = (end, keys, arrange, run, check)
    name = "\(part): \(fault)"
  }
}

extension FaultRow {
  /// A server's fault.
  static func server(_ fault: String, _ kind: String, _ says: String, keys: String = "", _ behaviour: Behaviour) -> FaultRow {
    FaultRow("server", fault, .failed(kind, says), keys: keys) { $0.add(behaviour) }
  }

  /// The same, with the behaviour in a closure.
  static func server(_ fault: String, _ kind: String, _ says: String, keys: String = "", behaviour: () -> Behaviour) -> FaultRow {
    .server(fault, kind, says, keys: keys, behaviour())
  }

  /// A URL that can't be fetched; `make` returns it after setting up its server.
  static func network(
    _ fault: String,
    _ kind: String,
    _ says: String,
    keys: String = "",
    _ make: @escaping @Sendable (FaultScene) async throws -> String
  ) -> FaultRow {
    FaultRow("network", fault, .failed(kind, says), keys: keys) { $0.urls.append(try await make($0)) }
  }

  /// An invalid file or line.
  static func input(_ fault: String, _ end: FaultEnd, keys: String = "", _ arrange: @escaping FaultScript) -> FaultRow {
    FaultRow("input", fault, end, keys: keys, arrange: arrange)
  }
}

/// The table of all faults.
enum FaultTable {
  static let rows: [FaultRow] =
    FaultRow.server + FaultRow.bodies + FaultRow.interrupted + FaultRow.throttling + FaultRow.limitedByNginx + FaultRow.otherHosts
    + FaultRow.network + FaultRow.encrypted + FaultRow.http2 + FaultRow.detours + FaultRow.addresses + FaultRow.secrets
    + FaultRow.robots + FaultRow.input + FaultRow.sitemaps + FaultRow.logs + FaultRow.disk + FaultRow.signals
}

/// Every kind of fault ends as the table says, and loses nothing that was stored.
@Suite struct FaultTableTests {
  @Test(arguments: FaultTable.rows.indices)
  func `each fault has its outcome, kind, status and message, and stored images stay`(index: Int) async throws {
    let (row, end) = (FaultTable.rows[index], FaultTable.rows[index].end)
    let scene = try await FaultScene(keys: row.keys)
    try await row.arrange(scene)
    let result = try await row.run(scene)
    let said: Comment = "\(row.name): \(result.ending) \(result.errorText)"
    #expect(result.status == end.exit, said)
    var message = result.errorText
    if end.outcome != nil || scene.job.folder.read("report.json") != nil {
      let run = try scene.job.finishedRun(result)
      #expect(run.totals["urls"] == run.sumOfTotals, said)
      if !result.errorText.contains("report") { #expect(run.report["exit_status"] as? Int == end.exit, said) }
      let entries = run.rows.filter { !scene.stored.contains($0.url) }
      if let outcome = end.outcome {
        let entry = try #require(entries.last { $0.outcome == outcome && $0.kind == end.kind } ?? entries.last, said)
        #expect(entry.outcome == outcome && entry.kind == end.kind, "\(said): \(entry)")
        message = entry.message ?? message
      }
      if message.isEmpty { message = (run.report["warnings"] as? [String] ?? []).joined(separator: "; ") }
    }
    #expect(message.contains(end.says) || end.says.isEmpty, "\(said): \(message)")
    try row.check?(scene, scene.job.finishedRun(result))
    // A later run finds the stored images, whatever has happened.
    scene.job.writeJob("manifests: [{path: stored.txt}]", name: "later", to: "stored.yaml")
    scene.job.write(urls: scene.stored, to: "stored.txt")
    let later = try await scene.job.prewarm("run stored.yaml --cache-mode only --set cache.verify-hits=true")
    #expect(later.status == 0, "\(said): \(later.outputText)\(later.errorText)")
  }

  @Test func `the table has many distinct faults`() {
    #expect(Set(FaultTable.rows.map(\.name)).count == FaultTable.rows.count)
    #expect(FaultTable.rows.count >= 150)
  }
}
