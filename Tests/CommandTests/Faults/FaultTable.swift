import Foundation
import Glibc
import Synchronization
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
    let arguments = ["run", "job.yaml", "--report", "json=report.json", "--report", "jsonl=rows.jsonl"] + options
    return try job.start(arguments, environment: environment, input: input, output: output)
  }
}

/// One row of the fault table: a fault, and its expected result.
struct FaultRow: Sendable {
  /// The cause: `server`, `network`, `disk`, `input` or `signal`.
  let part: String
  /// The fault, in a few words.
  let fault: String
  /// Keys of the job.
  let keys: String
  /// The outcome of the entry with the fault; nil if the run ends before it has one.
  let outcome: String?
  /// Its failure kind.
  let kind: String?
  /// The exit status of the run.
  var exit: Int
  /// A part of the entry's message; without an entry, of standard error or the report's warnings.
  let says: String
  /// Sets up the fault.
  let arrange: @Sendable (FaultScene) async throws -> Void
  /// Runs the job to its end, and does what has to be done meanwhile.
  let run: @Sendable (FaultScene) async throws -> Command.Result
  /// Checks further expectations about the reports, the output or the origin.
  let check: @Sendable (FaultScene, Command.Result) throws -> Void

  init(
    _ part: String,
    _ fault: String,
    keys: String = "",
    outcome: String? = nil,
    kind: String? = nil,
    exit: Int,
    says: String = "",
    arrange: @escaping @Sendable (FaultScene) async throws -> Void,
    run: @escaping @Sendable (FaultScene) async throws -> Command.Result = { try await $0.start().wait() },
    check: @escaping @Sendable (FaultScene, Command.Result) throws -> Void = { _, _ in }
  ) {
    (self.part, self.fault, self.keys, self.outcome, self.kind) = (part, fault, keys, outcome, kind)
    (self.exit, self.says, self.arrange, self.run, self.check) = (exit, says, arrange, run, check)
  }

  var name: String { "\(part): \(fault)" }
}

extension FaultRow {
  /// A server's fault.
  static func server(_ fault: String, _ kind: String, _ says: String, keys: String = "", _ behaviour: Behaviour) -> FaultRow {
    FaultRow("server", fault, keys: keys, outcome: "failed", kind: kind, exit: 2, says: says) { $0.add(behaviour) }
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
    FaultRow("network", fault, keys: keys, outcome: "failed", kind: kind, exit: 2, says: says) { scene in
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
    FaultRow("input", fault, keys: keys, outcome: outcome, kind: kind, exit: exit, says: says, arrange: arrange)
  }
}

/// The table of all faults, written as Markdown to the file in `PREWARM_FAULT_TABLE`.
enum FaultTable {
  static let rows: [FaultRow] =
    FaultRow.server + FaultRow.bodies + FaultRow.interrupted + FaultRow.throttling + FaultRow.limitedByNginx + FaultRow.otherHosts
    + FaultRow.network + FaultRow.encrypted + FaultRow.http2 + FaultRow.detours + FaultRow.addresses + FaultRow.secrets
    + FaultRow.robots + FaultRow.input + FaultRow.sitemaps + FaultRow.logs + FaultRow.disk + FaultRow.signals

  private static let path = ProcessInfo.processInfo.environment["PREWARM_FAULT_TABLE"]
  private static let lines = Mutex<[Int: String]>([:])

  /// Records a row's result; writes the file when all rows are there.
  static func note(_ index: Int, message: String) {
    guard let path else { return }
    let row = rows[index]
    let cells = [row.part, row.fault, row.outcome ?? "–", row.kind ?? "–", "\(row.exit)", message].map {
      $0.replacing("|", with: "\\|").replacing("\n", with: " ")
    }
    let text: String? = lines.withLock { lines in
      lines[index] = "| \(cells.joined(separator: " | ")) |"
      guard lines.count == rows.count else { return nil }
      let head = ["| part | fault | outcome | kind | exit | says |", "|---|---|---|---|---|---|"]
      return (head + lines.sorted { $0.key < $1.key }.map(\.value)).joined(separator: "\n") + "\n"
    }
    if let text { _ = FileManager.default.createFile(atPath: path, contents: Data(text.utf8)) }
  }
}

/// Every kind of fault ends as the table says, and loses nothing that was stored.
@Suite struct FaultTableTests {
  @Test(arguments: FaultTable.rows.indices)
  func `each fault has its outcome, kind, status and message, and stored images stay`(index: Int) async throws {
    let row = FaultTable.rows[index]
    let scene = try await FaultScene(keys: row.keys)
    try await row.arrange(scene)
    let result = try await row.run(scene)
    let said: Comment = "\(row.name): \(result.ending) \(result.errorText)"
    #expect(result.status == row.exit, said)
    var message = result.errorText
    if row.outcome != nil || scene.job.folder.read("report.json") != nil {
      let run = try scene.job.finishedRun(result)
      #expect(run.totals["urls"] == run.sumOfTotals, said)
      if !result.errorText.contains("report") { #expect(run.report["exit_status"] as? Int == row.exit, said) }
      let entries = run.rows.filter { !scene.stored.contains($0.url) }
      if let outcome = row.outcome {
        let entry = try #require(entries.last { $0.outcome == outcome && $0.kind == row.kind } ?? entries.last, said)
        #expect(entry.outcome == outcome && entry.kind == row.kind, "\(said): \(entry)")
        message = entry.message ?? message
      }
      if message.isEmpty { message = (run.report["warnings"] as? [String] ?? []).joined(separator: "; ") }
    }
    #expect(row.says.isEmpty || message.contains(row.says), "\(said): \(message)")
    try row.check(scene, result)
    FaultTable.note(index, message: message)
    // A later run finds the stored images, whatever has happened.
    scene.job.folder.write("version: 1\nname: later\nmanifests: [{path: stored.txt}]\n", to: "stored.yaml")
    scene.job.write(urls: scene.stored, to: "stored.txt")
    let later = try await scene.job.prewarm("run stored.yaml --cache-mode only --set cache.verify-hits=true")
    #expect(later.status == 0, "\(said): \(later.outputText)\(later.errorText)")
  }

  @Test func `the table has many distinct faults`() {
    #expect(Set(FaultTable.rows.map(\.name)).count == FaultTable.rows.count)
    #expect(FaultTable.rows.count >= 150)
  }
}
