import Foundation
import Glibc
import TestOrigin
import TestSupport
import Testing

/// Invalid targets of reports: inputs of a job, each other, and targets of another run.
@Suite struct ReportTargetTests {
  private let origin = makeImageOrigin()

  /// A job over lists, with a certificate, a baseline and more caches, and links to all of them.
  private func makeJob(_ origin: Origin) throws -> JobFolder {
    let job = JobFolder(
      """
      manifests: [{path: urls.txt}, {path: "lists/*.txt"}]
      request: {tls: {ca-file: ca.pem}}
      fail-on: {baseline: before.jsonl}
      cache: {directory: own, read-only: [other]}
      report: [{text: '-'}]
      """
    )
    job.write(urls: [origin.url("/no.jpg")])
    job.write(urls: [origin.url("/no.jpg")], to: "lists/a.txt")
    job.folder.write("pem", to: "ca.pem")
    job.folder.write("", to: "before.jsonl")
    for name in ["own/default/index.mdb", "own/default/VERSION", "other/a.jpg"] { job.folder.write("cache", to: name) }
    for (name, target) in [("l-urls", "urls.txt"), ("l-lists", "lists"), ("l-own", "own"), ("l-l", "l-urls")] {
      symlink(target, job.folder.file(name))
    }
    link(job.folder.file("urls.txt"), job.folder.file("h-urls"))
    link(job.folder.file("own/default/index.mdb"), job.folder.file("h-index"))
    return job
  }

  private static let refused = [
    "urls.txt", "./urls.txt", "x/../urls.txt", "l-urls", "l-l", "h-urls", "lists/a.txt", "l-lists/a.txt", "job.yaml", "ca.pem",
    "before.jsonl",
    "own/default/index.mdb", "own/default/VERSION", "l-own/default/index.mdb", "h-index", "own/default/new", "other/a.jpg",
  ]

  @Test(arguments: ["json", "jsonl"])
  func `a report doesn't replace inputs or cached data of the job`(form: String) async throws {
    let job = try makeJob(origin)
    func contents() -> [[UInt8]?] { Self.refused.map { job.folder.read($0) } }
    let before = contents()
    for path in Self.refused { try await job.expectTranscript("run job.yaml --report \(form)=\(path)", for: "\(form) \(path)") }
    #expect(contents() == before && origin.requests.isEmpty)
  }

  @Test func `a report option accepts a section as in a job file`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<1))
    let written = try await job.prewarm("check urls.txt --report", "junit={path: a.xml, successes: true}")
    let text = job.folder.text("a.xml")
    #expect(written.status == 0 && written.outputText.contains("OK") && text.contains(imageURLs(origin, 0..<1)[0]))
    // As a path does, it replaces the text report.
    let printed = try await job.prewarm("check urls.txt --report", "junit={path: '-', successes: true}")
    #expect(printed.status == 0 && printed.outputText.hasPrefix("<?xml "), "\(printed.errorText)")
    let refused = try await job.prewarm("check urls.txt --report", "html={path: a.html}")
    #expect(refused.status == 3)
    expectGolden(refused.errorText)
  }

  @Test func `check replaces none of its sources, standard input among them`() async throws {
    let job = try makeJob(origin)
    for sources in [
      "urls.txt --report json=l-urls", "lists/*.txt --report json=lists/a.txt", "job.yaml --report json=own/default/index.mdb",
    ] {
      #expect(try await job.prewarm("check \(sources)").status == 3, "\(sources)")
    }
    #expect(origin.requests.isEmpty)
  }

  @Test func `two reports of a job can't be written to the same file, by any path`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<1))
    mkdir(job.folder.file("d"), 0o755)
    symlink("d", job.folder.file("e"))
    symlink("d/o", job.folder.file("l"))
    job.folder.write("{}", to: "in.json")
    for (first, second) in [("d/o", "e/o"), ("d/o", "l"), ("l", "e/o"), ("e/x/o", "d/x/o")] {
      let reports = "--report json=\(first) --report html=\(second)"
      try await job.expectTranscript("run job.yaml \(reports)", "report show in.json \(reports)", for: "\(first) \(second)")
    }
    #expect(origin.requests.isEmpty)
  }

  @Test(arguments: ["json", "jsonl", "csv"])
  func `if two runs write the same report, the second exits with 1 before it fetches anything, since the job is right`(
    form: String
  ) async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<4))
    let gate = origin.holdAll()
    let first = try job.start(["run", "job.yaml", "--report", "\(form)=out"] + JobFolder.patience)
    try await origin.waitForRequests(1)
    let second = try await job.prewarm("run job.yaml --report \(form)=out --set cache.namespace=second")
    #expect(second.status == 1 && second.output.isEmpty, "\(second.errorText)")
    expectGolden(second.errorText)
    gate.open()
    #expect(try await first.wait().status == 0)
    // A killed run doesn't block others.
    let third = origin.holdAll()
    job.write(urls: imageURLs(origin, 4..<8))
    let killed = try job.start(["run", "job.yaml", "--report", "\(form)=out"] + JobFolder.patience)
    try await origin.waitForRequests(5)
    killed.send(SIGKILL)
    _ = try await killed.wait()
    third.open()
    #expect(try await job.prewarm("run job.yaml --report \(form)=out").status == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: job.folder.path)
    #expect(!names.contains { $0.hasPrefix(".prewarm") }, "\(names)")
  }

  // MARK: Jobs that would overwrite reports of another job of the same run.

  private func makeJobs(_ origin: Origin, _ keys: (String, String)) -> JobFolder {
    let job = JobFolder(urls: [origin.url("/no.jpg")])
    for (name, keys) in [("a", keys.0), ("b", keys.1)] {
      job.writeJob(keys, name: name)
    }
    job.folder.write("old", to: "out")
    return job
  }

  /// Standard output takes text, annotations and rows of several jobs, and a device any format.
  @Test(
    arguments: [
      ("report: [{json: out}]", "report: [{html: ./x/../out}]", true), ("report: [{jsonl: out}]", "report: [{jsonl: out}]", true),
      ("", "report: [{junit: '-'}]", true), ("", "", false), ("report: [{jsonl: '-'}]", "report: [{github: '-'}]", false),
      ("report: [{json: /dev/null}]", "report: [{csv: /dev/null}]", false),
    ]
  )
  func `two jobs that write the same file are rejected before anything is opened or fetched`(
    first: String,
    second: String,
    isRefused: Bool
  ) async throws {
    let job = makeJobs(origin, (first, second))
    let result = try await job.prewarm("run a.yaml b.yaml")
    #expect(result.status == (isRefused ? 3 : 2), "\(result.errorText)")
    guard isRefused else { return }
    #expect(result.output.isEmpty && origin.requests.isEmpty)
    expectGolden(result.errorText, for: "\(first), \(second)")
    // A check writes neither.
    #expect(try await job.prewarm("check a.yaml b.yaml").status == 2)
    #expect(job.folder.read("out") == Array("old".utf8))
  }

  @Test func `a report option applies to every job and to sources beside them`() async throws {
    let job = makeJobs(origin, ("", ""))
    for sources in ["run a.yaml b.yaml", "run a.yaml a.yaml", "check urls.txt b.yaml"] {
      try await job.expectTranscript("\(sources) --report json=out")
    }
    #expect(origin.requests.isEmpty && job.folder.read("out") == Array("old".utf8))
  }
}
