import Foundation
import TestOrigin
import TestSupport
import Testing

/// A folder with a job, its manifests and its cache, and the built command run over it.
struct JobFolder {
  let folder = TemporaryDirectory()

  /// A job with these keys besides `version` and `name`, by default over the manifest `urls.txt`.
  init(_ keys: String) { writeJob(keys) }

  /// A job over the manifest `urls.txt` with these URLs.
  init(urls: [String], keys: String = "") {
    self.init(keys)
    write(urls: urls)
  }

  /// A job over `urls.txt` that has run once, with a request for each of these URLs.
  static func warmed(urls: [String], keys: String = "") async throws -> JobFolder {
    let job = JobFolder(urls: urls, keys: keys)
    let run = try await job.runJob()
    let requested = ["downloaded", "checked", "failed"].compactMap { run.totals[$0] }.reduce(0, +)
    try #require(requested == urls.count, "\(run.result.errorText)")
    return job
  }

  var cacheDirectory: String { folder.file("cache") }

  var environment: [String: String?] {
    let cleared = ["XDG_CACHE_HOME", "NO_COLOR", "http_proxy", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"]
    return Dictionary(uniqueKeysWithValues: cleared.map { ($0, nil) } + [("PREWARM_CACHE_DIR", cacheDirectory)])
  }

  /// Writes a job to the file of its name, or `test` to `job.yaml`; by default over the manifest `urls.txt`.
  func writeJob(_ keys: String = "", name: String = "test", to file: String? = nil) {
    let lists = keys.contains("manifest") ? "" : "manifests: [{path: urls.txt}]\n"
    folder.write("version: 1\nname: \(name)\n\(lists)\(keys)\n", to: file ?? "\(name == "test" ? "job" : name).yaml")
  }

  func write(urls: [String], to name: String = "urls.txt") {
    folder.write(urls.map { "\($0)\n" }.joined(), to: name)
  }

  /// Where one of these texts is: in an output of a run, or in a file besides the job and its lists.
  func places(of texts: [String], _ result: Command.Result) -> [String] {
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
    let files = names.filter { $0.contains("/") || !$0.hasPrefix("urls.") && $0 != "job.yaml" }.map {
      ($0, readFile(folder.file($0)) ?? [])
    }
    return ([("standard output", result.output), ("standard error", result.error)] + files).filter { _, bytes in
      texts.contains { Data(bytes).range(of: Data($0.utf8)) != nil }
    }.map { $0.0 }
  }

  /// Starts `prewarm`, or another executable, with these arguments in the folder.
  ///
  /// - Parameters:
  ///   - further: variables besides the usual ones.
  ///   - script: lines of a shell that run first, such as setting a limit.
  func start(
    _ arguments: [String],
    of executable: String = BuiltCommand.path,
    environment further: [String: String?] = [:],
    input: Command.Input = .none,
    output: Command.Output = .captured,
    terminal: Command.Terminal? = nil,
    after script: String? = nil
  ) throws -> Command {
    try Command(
      script == nil ? executable : "/bin/sh",
      (script.map { ["-c", "\($0)\nexec \"$@\"", "sh", executable] } ?? []) + arguments,
      environment: environment.merging(further) { $1 },
      workingDirectory: folder.path,
      input: input,
      output: output,
      terminal: terminal
    )
  }

  /// The words between the spaces of a command line.
  static func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }

  /// Runs `prewarm` to its end, with the words of a line and further arguments, which may contain spaces.
  func prewarm(
    _ line: String,
    _ arguments: String...,
    environment: [String: String?] = [:],
    input: Command.Input = .none
  ) async throws -> Command.Result {
    try await start(Self.words(line) + arguments, environment: environment, input: input).wait()
  }

  /// The object in a JSON file.
  func json(_ name: String) throws -> [String: any Sendable] {
    try #require(try JSONSerialization.jsonObject(with: Data(folder.read(name) ?? [])) as? [String: any Sendable])
  }

  /// Starts ``run``.
  ///
  /// - Parameter isHeld: whether the origin holds responses, possibly for long on a busy machine, so that they must not
  ///   count as stalled.
  func startJob(_ options: [String] = [], input: Command.Input = .none, isHeld: Bool = false) throws -> Command {
    let patience = isHeld ? Self.patience : []
    return try start(Self.run + patience + options, input: input)
  }

  /// Arguments of a run with a JSON and a JSON Lines report in addition to its own.
  static let run = ["run", "job.yaml", "--report", "json=report.json", "--report", "jsonl=rows.jsonl"]

  /// Options for a run whose responses a test holds.
  static let patience = ["--set", "request.stall-timeout=10m", "--set", "request.timeout=10m"]

  /// Runs the job to its end and reads its reports back.
  ///
  /// - Parameter line: options, split at spaces; `options` may contain spaces.
  func runJob(_ line: String = "", _ options: String..., input: Command.Input = .none) async throws -> Run {
    try Run(try await startJob(Self.words(line) + options, input: input).wait(), folder)
  }

  /// The reports of a run that ended by itself.
  func finishedRun(_ result: Command.Result) throws -> Run { try Run(result, folder) }
}

/// A run that has ended, with its reports read back.
struct Run {
  let result: Command.Result
  let report: [String: any Sendable]
  let rows: [Row]

  struct Row: Decodable {
    let url, manifest, priority, outcome: String
    let kind, message, format, transformedFormat: String?
    let line, status, attempts, width, height, bytes, storedBytes, transformedWidth, transformedHeight: Int?
    let shared: Bool?
    let warnings: [String]?
  }

  init(_ result: Command.Result, _ folder: TemporaryDirectory) throws {
    self.result = result
    guard let bytes = folder.read("report.json") else {
      throw MissingReport(description: "no report; output: \(result.errorText)")
    }
    report = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: any Sendable] ?? [:]
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    // The last line of a shard is its end.
    let lines = (folder.read("rows.jsonl") ?? []).split(separator: UInt8(ascii: "\n")).filter {
      !$0.starts(with: Array(#"{"shard":"#.utf8))
    }
    rows = try lines.map { try decoder.decode(Row.self, from: Data($0)) }
  }

  struct MissingReport: Error, CustomStringConvertible {
    let description: String
  }

  var status: Int? { result.status }

  /// The totals by their name in the report.
  var totals: [String: Int] { report["totals"] as? [String: Int] ?? [:] }

  /// The sum of all totals but `urls`.
  var sumOfTotals: Int { totals.filter { $0.key != "urls" }.values.reduce(0, +) }

  var failuresByKind: [String: Int] { report["failures_by_kind"] as? [String: Int] ?? [:] }

  func section(_ name: String) -> [String: any Sendable] { report[name] as? [String: any Sendable] ?? [:] }

  /// The rows with that outcome.
  func rows(_ outcome: String) -> [Row] { rows.filter { $0.outcome == outcome } }
}

/// An origin that serves a different JPEG at every path below `/images/`, and 404 elsewhere.
func makeImageOrigin(hosts: Int = 1) -> Origin {
  guard let origin = try? Origin(addresses: Array(repeating: .ipv4, count: hosts)) else { fatalError("no port on loopback") }
  origin.setFallback { number(of: $0).map { .jpeg($0) } ?? .status(404) }
  return origin
}

/// The number of an image below `/images/`.
func number(of request: RecordedRequest) -> Int? {
  request.path.hasPrefix("/images/") ? Int(request.path.dropFirst("/images/".count).prefix { $0 != "." }) : nil
}

/// A sitemap of these URLs.
func sitemapText(_ urls: [String]) -> String { "<urlset>\(urls.map { "<url><loc>\($0)</loc></url>" }.joined())</urlset>" }

/// URLs of `count` images of an origin.
func imageURLs(_ origin: Origin, _ range: Range<Int>, host: Int = 0) -> [String] {
  range.map { origin.url("/images/\($0).jpg", host: host) }
}
