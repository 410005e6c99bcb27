import Foundation
import ImageCaching
import TestOrigin
import TestSupport
import Testing

/// Power loss at every moment of a run: images reported as downloaded by then are there, and nothing else is broken.
///
/// The run is real, and its writes and syncs are recorded; the moments are replayed from the record (``DiskModel``).
@Suite(.serialized) struct PowerLossTests {
  private static let seed: UInt64 = 20_261_121
  /// How often each moment is replayed with different surviving parts.
  private static let variants = SoakCounts.isLong ? 20 : 1
  /// Every how many-th moment is replayed.
  private static let stride = SoakCounts.isLong ? 1 : 6

  @Test(arguments: [true, false])
  func `after a power loss at any moment the cache opens, is sound, and has all reported images`(isWarm: Bool) async throws {
    let images = try RecordedImages()
    let job = images.makeJob()
    if isWarm {
      job.write(urls: images.stored, to: images.manifestPath)
      #expect(try await job.runJob().totals["downloaded"] == images.stored.count)
      unlink(job.folder.file("rows.jsonl"))
    }
    job.write(urls: images.stored + images.fresh, to: images.manifestPath)
    var disk = DiskModel(holding: job.cacheDirectory)
    let steps = try await images.record(job)
    #expect(steps.count > 50)
    try images.play(steps, on: &disk, in: job, sure: isWarm ? images.stored : [], stride: Self.stride, variants: Self.variants)
  }

  @Test(arguments: ["compact", "trim"])
  func `after a power loss during compact or trim the images are there`(command: String) async throws {
    let images = try RecordedImages()
    let job = images.makeJob()
    job.write(urls: images.stored + images.fresh, to: images.manifestPath)
    #expect(try await job.runJob().totals["downloaded"] == images.stored.count + images.fresh.count)
    var disk = DiskModel(holding: job.cacheDirectory)
    let steps = try await images.record(job, ["cache", command, "--job", "job.yaml"])
    #expect(!steps.isEmpty)
    try images.play(steps, on: &disk, in: job, sure: images.stored + images.fresh, stride: 1, variants: Self.variants)
  }
}

/// Small and large images, and a job over them whose rows are written a few at a time.
private final class RecordedImages {
  let stored: [String]
  let fresh: [String]
  /// Rows are written in pieces of 64 KiB. They contain the path of their manifest, so a long path makes pieces of few
  /// rows.
  let manifestPath = String(repeating: String(repeating: "long-", count: 40) + "/", count: 15) + "urls.txt"
  private let origin: Origin
  private var bodies: [[UInt8]: [UInt8]] = [:]

  init() throws {
    let origin = try Origin()
    var bodies: [[UInt8]: [UInt8]] = [:]
    let urls = (0..<70).map { number in
      let body = SampleImages.jpeg(number, padding: number % 12 == 5 ? 280_000 : 500)
      origin.set("/\(number).jpg", .body(body, type: "image/jpeg"))
      bodies[Array(origin.url("/\(number).jpg").utf8)] = body
      return origin.url("/\(number).jpg")
    }
    stored = Array(urls.prefix(10))
    fresh = Array(urls.dropFirst(10))
    self.origin = origin
    self.bodies = bodies
  }

  func makeJob() -> JobFolder { JobFolder("manifests: [{path: \(manifestPath)}]\nprefetch: {concurrency: 4, per-host: 4}") }

  /// Runs the job, or another command, and returns its steps on the folder.
  func record(_ job: JobFolder, _ arguments: [String]? = nil) async throws -> [RecordedStep] {
    let record = TemporaryDirectory()
    let recorded: [String: String?] = [
      "LD_PRELOAD": Preload.recorder.path, "PREWARM_RECORDED": job.folder.path, "PREWARM_RECORD": record.file("record"),
    ]
    let result = try await job.start(arguments ?? ["run", "job.yaml", "--report", "jsonl=rows.jsonl"], environment: recorded)
      .wait()
    #expect(result.status == 0, "\(result.errorText)")
    return RecordedStep.all(in: record.read("record") ?? [])
  }

  /// Loses power after every `stride`-th step, and checks the result.
  ///
  /// - Parameter sure: URLs that were stored before.
  func play(
    _ steps: [RecordedStep],
    on disk: inout DiskModel,
    in job: JobFolder,
    sure: [String],
    stride: Int,
    variants: Int
  ) throws {
    var reported = Set(sure.map { Array($0.utf8) })
    var rows: [UInt8] = []
    var random: SeededRandom? = SeededRandom(seed: 20_261_121)
    var nothing: SeededRandom?
    for (index, step) in steps.enumerated() {
      if step.path == job.folder.file("rows.jsonl") {
        rows += step.bytes
        reported.formUnion(try reportedURLs(&rows))
        continue
      }
      disk.apply(step)
      // A sync makes guarantees.
      guard index % stride == 0 || step.kind == .sync || step.kind == .syncedWrite else { continue }
      let comment: Comment = "after step \(index) of \(steps.count): \(step.kind) \(step.path)"
      try expectSound(disk, reported, &nothing, comment)
      for _ in 0..<variants { try expectSound(disk, reported, &random, comment) }
    }
    #expect(sure.count > 60 || reported.count > sure.count)
  }

  private func reportedURLs(_ rows: inout [UInt8]) throws -> [[UInt8]] {
    guard let end = rows.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
    defer { rows.removeSubrange(...end) }
    return try rows[...end].split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Run.Row.self, from: Data($0)) }
      .filter { $0.outcome == "downloaded" || $0.outcome == "hit-disk" }.map { Array($0.url.utf8) }
  }

  private func expectSound(_ disk: DiskModel, _ reported: Set<[UInt8]>, _ random: inout SeededRandom?, _ comment: Comment) throws
  {
    let folder = TemporaryDirectory()
    disk.lose(into: folder.file("cache"), &random)
    do {
      let cache = try ImageCache(.init(directory: folder.file("cache"), namespace: "default", access: .readWrite))
      let result = try cache.verify(repair: false)
      #expect(result.damaged == 0, comment)
      #expect(try cache.totals().entries == result.entries, comment)
      for url in reported where try cache.data(forIdentity: url)?.bytes != bodies[url] {
        Issue.record("\(comment): lost \(String(decoding: url, as: UTF8.self))")
      }
    } catch {
      Issue.record("\(comment): \(error)")
    }
  }
}
