import Foundation
import ImageCaching
import TestOrigin
import TestSupport

/// A small job that covers everything a run does: hits and misses, small and large bodies, failures, every kind of
/// report.
final class TortureJob: Sendable {
  enum Kind: String, CaseIterable, Sendable {
    /// With a cache of two images, in FIFO order.
    case warm
    /// Without a cache, in LIFO order.
    case cold
  }

  let kind: Kind
  let origin: Origin
  /// A cache with the two images of ``warm``, copied for each run.
  private let template: JobFolder
  private static let threads = ProcessInfo.processInfo.environment["PREWARM_TORTURE_THREADS"].flatMap { Int($0) } ?? 1
  private let warm: [String]
  private let fresh: [String]
  private let bad: [String]
  private let bodies: [String: [UInt8]]

  /// The results of a run without faults.
  var expected: [String: Int] {
    [
      "urls": warm.count + fresh.count + bad.count + 2, "hit_disk": warm.count, "downloaded": fresh.count + 1,
      "failed": bad.count + 1,
    ]
  }

  init(_ kind: Kind) async throws {
    self.kind = kind
    let origin = try Origin()
    var bodies: [String: [UInt8]] = [:]
    func add(_ name: String, _ body: [UInt8], isChunked: Bool = false, host: String = "127.0.0.1") -> String {
      let path = "/\(name)"
      origin.set(path, isChunked ? .chunked([Array(body[..<90_000]), Array(body[90_000...])]) : .body(body, type: nil))
      let url = "http://\(host):\(origin.port)\(path)"
      bodies[url] = body
      return url
    }
    let stored = [add("warm.jpg", SampleImages.jpeg(1)), add("warm-large.jpg", SampleImages.jpeg(2, padding: 300_000))]
    warm = kind == .warm ? stored : []
    fresh =
      (kind == .warm ? [] : stored) + [
        add("small.jpg", SampleImages.jpeg(3)), add("small.png", SampleImages.png(4)),
        add("large.jpg", SampleImages.jpeg(5, padding: 400_000)),
        add("chunked.jpg", SampleImages.jpeg(6, padding: 350_000), isChunked: true),
        add("named.jpg", SampleImages.jpeg(7, padding: 20_000), host: "localhost"),
      ]
    origin.set("/page.jpg", .text("<!doctype html><title>Sorry</title>"))
    bad = [origin.url("/gone.jpg"), origin.url("/page.jpg")]
    self.bodies = bodies
    self.origin = origin
    template = JobFolder(urls: warm)
    if kind == .cold { return }
    let run = try await template.runJob()
    guard run.status == 0, run.totals["downloaded"] == warm.count else { throw NoAnswer(description: run.result.errorText) }
  }

  /// A folder with the job and its cache.
  func makeFolder() throws -> JobFolder {
    let keys = """
      request: {retries: 1, backoff: {initial: 1ms, maximum: 2ms}, connect-timeout: 10s, stall-timeout: 10s, timeout: 20s}
      report: [{text: report.txt}]
      prefetch: {order: \(kind == .warm ? "fifo" : "lifo"), threads: \(Self.threads)}
      """
    let job = JobFolder(urls: warm + fresh + bad + [fresh[0], "http://"], keys: keys)
    if kind == .warm { try FileManager.default.copyItem(atPath: template.cacheDirectory, toPath: job.cacheDirectory) }
    return job
  }

  /// Runs the job under strace with these options; calls count from reading the job.
  func run(in job: JobFolder, _ options: [String]) async throws -> Command.Result {
    let pipe = job.folder.file("pipe.yaml")
    guard mkfifo(pipe, 0o600) == 0 else { throw NoAnswer(description: "mkfifo: \(String(cString: strerror(errno)))") }
    let command = try job.start(["run", "pipe.yaml"] + JobFolder.run.dropFirst(2))
    var end: Int32 = -1
    try await poll("the command to open its job") {
      end = open(pipe, O_WRONLY | O_NONBLOCK)
      return end >= 0
    }
    let tracer = try await Strace.attach(to: command, options)
    let text = job.folder.read("job.yaml") ?? []
    _ = text.withUnsafeBytes { write(end, $0.baseAddress, $0.count) }
    close(end)
    let result = try await command.wait()
    _ = try await tracer.wait()
    return result
  }

  /// The errors of a run's report, and the damage it did; empty if all is well.
  func faults(in job: JobFolder, after result: Command.Result) async throws -> [String] {
    var faults: [String] = []
    func check(_ isRight: Bool, _ sentence: @autoclosure () -> String) { if !isRight { faults.append(sentence()) } }
    guard case .exited(let status) = result.ending else { return ["it crashed: \(result.ending) \(result.errorText)"] }
    check([1, 2, 3].contains(status), "exit status \(status)")
    // A failing write may be that of the sentence.
    let report = job.folder.text("report.json")
    let isSaid = result.errorText.contains(": ") || report.contains(#""breakage": ""#)
    check(status == 2 || isSaid, "exit status \(status) without a sentence: \(result.errorText)")
    var reported: [Run.Row] = []
    do {
      let run = try Run(result, job.folder)
      reported = run.rows
      let written = run.report["exit_status"] as? Int
      check(
        written == status || status == 1 && result.errorText.contains("report"),
        "exit status \(status), report \(written ?? -1)"
      )
      check(run.totals["urls"] == run.sumOfTotals, "totals do not add up: \(run.totals)")
      if !result.errorText.contains("rows.jsonl") {
        check(run.rows.count == run.sumOfTotals, "\(run.rows.count) rows of \(run.sumOfTotals)")
        for (outcome, key) in [("downloaded", "downloaded"), ("hit-disk", "hit_disk"), ("failed", "failed")] {
          check(run.rows(outcome).count == run.totals[key], "\(outcome): \(run.rows(outcome).count) rows, \(run.totals)")
        }
      }
      for row in run.rows("failed") where row.message == nil || row.kind == "internal" {
        check(false, "no good reason: \(row.kind ?? "-") \(row.message ?? "-")")
      }
    } catch is Run.MissingReport {
      check(status != 2, "exit status 2 without a report")
    }
    faults += try await brokenPromises(job, reported)
    return faults
  }

  private func brokenPromises(_ job: JobFolder, _ reported: [Run.Row]) async throws -> [String] {
    var faults: [String] = []
    // A run that couldn't create a cache leaves none, or one without tables.
    guard let kept = try Self.bodies(in: job) else {
      let isReported = reported.contains { $0.outcome == "downloaded" }
      return isReported ? ["no cache, and images reported as downloaded"] : try await nextRunFaults(job, [:])
    }
    let verified = try await job.prewarm("cache verify")
    if verified.status != 0 { faults.append("verify: \(verified.errorText)") }
    let hits = reported.filter { $0.outcome == "downloaded" || $0.outcome == "hit-disk" }.map(\.url)
    for url in Set(hits + warm) where kept[url] != bodies[url] { faults.append("not in the cache as it was reported: \(url)") }
    for (url, body) in kept where bodies[url] != body { faults.append("wrong bytes in the cache: \(url)") }
    return try await faults + nextRunFaults(job, kept)
  }

  /// The errors of another run of the job, without faults.
  private func nextRunFaults(_ job: JobFolder, _ kept: [String: [UInt8]]) async throws -> [String] {
    var faults: [String] = []
    let again = try await job.runJob()
    let good = [again.totals["hit_disk"], again.totals["downloaded"]].compactMap { $0 }.reduce(0, +)
    let failed = [again.totals["failed"], again.totals["blacklisted"]].compactMap { $0 }.reduce(0, +)
    let isClean = again.status == 2 && good == expected["hit_disk"]! + expected["downloaded"]! && failed == expected["failed"]!
    if !isClean { faults.append("the next run: \(again.totals) \(again.result.errorText)") }
    let stored = again.rows("hit-disk").map(\.url)
    for url in kept.keys where !stored.contains(url) { faults.append("stored, and fetched again: \(url)") }
    return faults
  }

  /// Every image of the cache, by its URL; nil if there is no cache.
  private static func bodies(in job: JobFolder) throws -> [String: [UInt8]]? {
    let cache: ImageCache
    do {
      cache = try ImageCache(.init(directory: job.cacheDirectory, namespace: "default", access: .readOnly))
    } catch CacheError.missing {
      return nil
    }
    var bodies: [String: [UInt8]] = [:]
    for record in try cache.entries(after: nil, limit: 1000) {
      bodies[String(decoding: record.shownURL, as: UTF8.self)] = try cache.data(forIdentity: record.shownURL)?.bytes
    }
    return bodies
  }
}
