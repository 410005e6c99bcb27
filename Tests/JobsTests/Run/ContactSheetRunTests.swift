import ImageCoding
import ImageDownloading
import ImageManaging
import Base
import Reports
import TestOrigin
import TestSupport
import Testing
@testable import Jobs

/// The thumbnails that a run with an HTML report makes.
@Suite struct ContactSheetRunTests {
  private let runs = JobRuns()

  /// One transfer at a time, so that images arrive in order.
  private func job(_ urls: [String]) throws -> Job {
    var job = try runs.job(urls: urls, keys: "prefetch: {concurrency: 1}")
    job.reports.append(Job.ReportTarget(format: .html, destination: .file(JobPath("page.html", in: runs.folder.path))))
    return job
  }

  /// The thumbnails of a run, each within its limits, and decoded again if it has a picture.
  private func thumbnails(_ job: Job) throws -> [Thumbnail] {
    let thumbnails = try runs.run(job).report.thumbnails
    for thumbnail in thumbnails where !thumbnail.picture.isEmpty {
      #expect(thumbnail.picture.count <= 6 << 10)
      let image = try ImageCoderRegistry.standard.decode(thumbnail.picture)
      #expect(image.animation == nil && image.header.format == thumbnail.pictureFormat)
      #expect(image.pixels.size == ImageSize(width: Int(thumbnail.pictureWidth), height: Int(thumbnail.pictureHeight)))
      #expect(image.pixels.size.width <= 160 && image.pixels.size.height <= 120)
    }
    return thumbnails
  }

  private func serve(_ names: [String]) throws -> Origin {
    let origin = try Origin()
    for name in names { origin.set("/\(name)", .file(Fixtures.path("images/\(name)"))) }
    return origin
  }

  private static let still = [
    "good/photo.jpg", "good/rgba.png", "good/cmyk.jpg", "good/progressive.jpg", "good/rgb.png", "good/still.gif",
    "good/palette.png",
    "good/lossy.webp", "good/alpha.webp", "good/grey.png", "good/rotated.jpg", "good/animated.webp", "good/animation.gif",
    "good/animated.png", "avif/photo.avif", "good/deep.png",
  ]

  @Test func `the sheet shows the latest and the largest images of every format, with an animation's first frame`() throws {
    let origin = try serve(Self.still)
    var job = try job(Self.still.map { origin.url("/\($0)") })
    job.verify.rules.contentType = .ignore
    let all = try thumbnails(job)
    let latest = all.filter { $0.reason == .latest }
    #expect(latest.map(\.url) == Self.still.suffix(12).reversed().map { origin.url("/\($0)") })
    let sizes = Self.still.map { UInt64(Fixtures.bytes("images/\($0)").count) }
    let largest = all.filter { $0.reason == .largest }
    #expect(largest.map(\.bytes) == Array(sizes.sorted(by: >).prefix(12)))
    #expect(all.count == 24 && all.allSatisfy { !$0.picture.isEmpty && $0.failure == nil && $0.checksum != nil && $0.width > 0 })
    #expect(Set(all.compactMap(\.format)).count >= 4)
  }

  @Test func `a job without an HTML report makes no pictures`() throws {
    let origin = try serve(Self.still)
    #expect(try runs.run(runs.job(urls: [origin.url("/good/photo.jpg")])).report.thumbnails.isEmpty)
  }

  @Test func `hits aren't shown as new, and credentials are masked`() throws {
    let origin = try serve(Self.still)
    let job = try job([origin.url("/good/photo.jpg").replacing("http://", with: "http://user:secret@")])
    let all = try thumbnails(job)
    #expect(all.count == 2 && all.allSatisfy { $0.url.contains("***@") && !$0.url.contains("secret") })
    #expect(try thumbnails(job).isEmpty)
  }

  @Test func `rejected images are shown with their failure, as far as they decode`() throws {
    let names = [
      "broken/cut.jpg", "broken/cut.png", "broken/bad-crc.png", "broken/page.jpg", "broken/gif-inside.jpg", "good/rgb.png",
    ]
    let origin = try serve(names)
    var job = try job(names.map { origin.url("/\($0)") })
    job.verify.rules.depth = .full
    job.verify.rules.formats = [.jpeg, .png]
    job.verify.rules.width = VerificationRules.Bounds(minimum: 1, maximum: 1)
    let failed = try thumbnails(job).filter { $0.reason == .failed }
    // Those that have to be decoded first may come later.
    #expect(failed.map(\.url).sorted() == names.map { origin.url("/\($0)") }.sorted())
    #expect(failed.allSatisfy { $0.failure != nil })
    let shown = failed.filter { !$0.picture.isEmpty }.map { String($0.url.split(separator: "/").last ?? "") }
    #expect(Set(shown).isSuperset(of: ["cut.jpg", "cut.png", "rgb.png"]), "\(shown)")
    let page = try #require(failed.first { $0.url.hasSuffix("page.jpg") })
    #expect(page.picture.isEmpty && page.pictureWidth == 0 && page.format == nil && page.failure?.kind == .notAnImage)
    let large = try #require(failed.first { $0.url.hasSuffix("rgb.png") })
    #expect(large.failure?.kind == .dimensions && large.format == .png && large.width > 1)
  }

  @Test func `at most twelve of a kind are kept`() throws {
    let origin = try Origin()
    origin.setFallback { request in
      request.path.hasPrefix("/bad")
        ? .body(Array("<html>\(request.path)".utf8), type: "image/jpeg")
        : .body(SampleImages.jpeg(Int(request.path.dropFirst()) ?? 0), type: "image/jpeg")
    }
    let all = try thumbnails(job((1...40).flatMap { [origin.url("/bad/\($0)"), origin.url("/\($0)")] }))
    for reason in [Thumbnail.Reason.latest, .largest, .failed] { #expect(all.filter { $0.reason == reason }.count == 12) }
    #expect(all.count == 36)
  }

  private enum Way: CaseIterable { case inFile, inMemory, inPart }

  @Test(arguments: Way.allCases)
  private func `large images are shown too, from the cache, directly, or from their kept part`(way: Way) throws {
    let origin = try Origin()
    origin.setFallback { request in
      let number = Int(request.path.dropFirst()) ?? 0
      // Bytes after a JPEG's end aren't part of it.
      let image = Fixtures.bytes("images/good/photo-small.jpg") + [UInt8](repeating: 0, count: 2_000_000 + number)
      return .body(image, type: "image/jpeg")
    }
    // This many in memory may wait for their pictures, however slow these are.
    let count = way == .inMemory ? 7 : 14
    var job = try job((1...count).map { origin.url("/\($0)") })
    if way != .inFile { job.cache.mode = .bypass }
    if way == .inMemory { job.verify.rules.depth = .full }
    let all = try thumbnails(job)
    let largest = all.filter { $0.reason == .largest }
    #expect(largest.map(\.url) == (max(1, count - 11)...count).reversed().map { origin.url("/\($0)") })
    #expect(largest.allSatisfy { !$0.picture.isEmpty && $0.bytes > 2_000_000 && $0.width > 0 })
    #expect(all.filter { $0.reason == .latest }.count == (way == .inMemory ? 0 : 12))
  }

  @Test func `a probe's prefix is shown if it decodes to something, and omitted otherwise`() throws {
    let origin = try Origin()
    let photo = Fixtures.bytes("images/good/photo.jpg")
    origin.set("/whole", .ranged(photo, type: "image/jpeg"))
    origin.set("/part", .ranged(photo + [UInt8](repeating: 0, count: 200_000), type: "image/jpeg"))
    // Its pixels start after the fetched prefix; its header doesn't.
    let late = Array(Fixtures.bytes("images/good/rgb.png")[..<33]) + [UInt8](repeating: 0, count: 200_000)
    origin.set("/late", .ranged(late, type: "image/png"))
    var job = try job(["/whole", "/part", "/late"].map { origin.url($0) })
    job.request.download.method = .probe
    let all = try thumbnails(job)
    #expect(all.filter { $0.reason == .latest }.map(\.url) == ["/part", "/whole"].map { origin.url($0) })
    #expect(all.allSatisfy { !$0.picture.isEmpty })
  }

  @Test(arguments: [Job.Verify.Placeholders.report, .fail, .ignore])
  func `one of each placeholder is shown under the report's first URL`(rule: Job.Verify.Placeholders) throws {
    let origin = try Origin()
    origin.setFallback { request in
      .body(SampleImages.jpeg(request.path.hasPrefix("/a") ? 1 : 2), type: "image/jpeg")
    }
    var job = try job((1...10).map { origin.url("/b/\($0)") } + (1...14).map { origin.url("/a/\($0)") })
    job.verify.placeholders = rule
    let report = try runs.run(job).report
    let all = report.thumbnails
    let shown = all.filter { $0.reason == .placeholder }
    // Failures may be reported before images that wait for their commit.
    #expect(shown.map(\.url) == report.placeholders.map(\.firstURL))
    #expect(shown.map { $0.url.contains("/a/") } == (rule == .ignore ? [] : [true, false]))
    #expect(shown.allSatisfy { !$0.picture.isEmpty && $0.format == .jpeg })
    // They aren't among the other failures.
    #expect(all.filter { $0.reason == .failed }.isEmpty)
  }

  @Test func `an image that claims to be huge makes no picture and takes no memory`() throws {
    let origin = try Origin()
    origin.set("/vast", .body(SampleImages.lyingPNG(width: 60_000, height: 60_000), type: "image/png"))
    origin.set("/long", .body(SampleImages.lyingPNG(width: 9_000, height: 11_000), type: "image/png"))
    var job = try job(["/vast", "/long"].map { origin.url($0) })
    job.verify.rules.maximumPixels = .max
    let all = try thumbnails(job)
    #expect(all.map(\.url).allSatisfy { $0.hasSuffix("/vast") || $0.hasSuffix("/long") } && all.count == 4)
    #expect(all.allSatisfy { $0.url.hasSuffix("/long") || $0.picture.isEmpty })
  }
}

/// The time that a run's end may spend on its pictures.
@Suite struct ContactSheetTimeTests {
  /// The pictures of a run of thirteen images, interrupted with the last one or not; each reading of the clock costs
  /// 400 ms.
  private func pictures(isInterrupted: Bool) throws -> Int {
    let runs = JobRuns()
    let control = RunControl()
    let origin = try Origin()
    origin.setFallback { request in
      let number = Int(request.path.dropFirst()) ?? 0
      if isInterrupted, number == 13 { control.stop(signal: 2) }
      return .body(SampleImages.jpeg(number), type: "image/jpeg")
    }
    var job = try runs.job(urls: (1...13).map { origin.url("/\($0)") }, keys: "prefetch: {concurrency: 1}")
    job.reports = [Job.ReportTarget(format: .html, destination: .file(JobPath("page.html", in: runs.folder.path)))]
    let manager = try ImageManager(ImageManager.Configuration())
    defer { manager.blocking.shutDown() }
    let runner = JobRunner(manager: manager, version: "0", control: control)
    var now: UInt64 = 0
    runner.pictureClock = {
      now += 400_000_000
      return MonotonicInstant(nanoseconds: now)
    }
    let report = runner.run(try PreparedJob(job))
    #expect((report.end.interruption != nil) == isInterrupted)
    return report.thumbnails.count
  }

  @Test func `an interrupted run spends one second on pictures, and others ten`() throws {
    #expect(try pictures(isInterrupted: false) == 24)
    // Two images, which are among the latest, and may be among the largest.
    #expect((2...4).contains(try pictures(isInterrupted: true)))
  }
}
