import Base
import TestSupport
import Testing

@testable import Reports

/// Findings about the delivery of good images.
@Suite struct LintTests {
  private var all: Lint {
    var lint = Lint()
    lint.all = .warn
    return lint
  }

  private func good(_ facts: DeliveryFacts? = good, finalURL: String? = nil, _ change: (inout EntryResult) -> Void = { _ in })
    -> EntryResult
  {
    .make(.checked, details: EntryResult.Details(finalURL: finalURL, delivery: facts)) {
      ($0.format, $0.width, $0.height, $0.bytes) = (.jpeg, 100, 80, 5000)
      change(&$0)
    }
  }

  private static var good: DeliveryFacts {
    var facts = DeliveryFacts()
    (facts.cacheControl, facts.hasValidator) = ("public, max-age=31536000, immutable", true)
    return facts
  }

  /// The findings of one entry, as `rule: message`.
  private func findings(
    _ result: EntryResult,
    url: String = "https://a.example/1.jpg",
    claims: [ImageClaims] = [],
    lint: Lint? = nil
  ) -> [String] {
    let run = makeRun(manifests: ["urls.txt"], lint: lint ?? all)
    record(result, url, claims, in: run)
    return run.finish(makeEnd()).lint.flatMap { summary in
      summary.examples.map { "\(summary.rule.name): \($0.message)" }
    }
  }

  private func record(_ result: EntryResult, _ url: String, _ claims: [ImageClaims] = [], in run: RunReport) {
    run.record(result, url: url, host: "a.example", note: EntryNote(claims: claims))
  }

  @Test func `an image that is delivered well has no findings, and nothing is judged by default`() {
    #expect(findings(good()).isEmpty)
    #expect(findings(good(DeliveryFacts()), lint: Lint()).isEmpty)
  }

  @Test(
    arguments: [
      nil, "", "no-store", "no-cache", "max-age=60", "max-age=x", "no-store, max-age=86400", "max-age=86400, max-age=60",
      "public, private, max-age=86400",
    ] as [String?]
  )
  func `Cache-Control must be there, agree with itself, and allow enough time`(value: String?) {
    var facts = Self.good
    facts.cacheControl = value
    let found = findings(good(facts))
    #expect(found.count == 1)
    expectGolden("\(value ?? "absent"): \(found.joined())")
  }

  @Test func `other headers, redirects, http and certificates have findings of their own`() {
    var facts = Self.good
    facts.hasValidator = false
    #expect(findings(good(facts)) == ["no-validator: neither ETag nor Last-Modified"])
    #expect(findings(good(finalURL: "https://b.example/1.jpg")) == ["redirect: redirects to https://b.example/1.jpg"])
    #expect(findings(good(), url: "http://a.example/1.jpg") == ["insecure: the URL is an http URL"])
    facts = Self.good
    facts.certificateEnd = nineOClock.advanced(by: .seconds(9 * 86_400 + 1))
    #expect(findings(good(facts)).first?.hasPrefix("certificate: the certificate expires in 9 days") == true)
    facts.certificateEnd = nineOClock.advanced(by: .seconds(15 * 86_400))
    #expect(findings(good(facts)).isEmpty)
  }

  @Test func `a negotiated format requires Vary`() {
    let webp = good { $0.format = .webp }
    #expect(findings(webp).count == 1)
    #expect(findings(webp, url: "https://a.example/1.webp").isEmpty && findings(webp, url: "https://a.example/1").isEmpty)
    var facts = Self.good
    facts.vary = "Origin, accept"
    #expect(findings(good(facts) { $0.format = .webp }).isEmpty)
  }

  @Test func `metadata and large animated GIFs are findings`() {
    #expect(findings(good { $0.metadata.hasPosition = true }) == ["metadata: a GPS position"])
    #expect(findings(good { $0.metadata.hasThumbnail = true }) == ["metadata: an embedded thumbnail"])
    let animation = good { ($0.format, $0.frames, $0.bytes) = (.gif, 20, 500_000) }
    #expect(findings(animation, url: "https://a.example/1.gif") == ["gif-video: an animated GIF of 500 kB"])
    #expect(findings(good { ($0.format, $0.bytes) = (.gif, 500_000) }, url: "https://a.example/1.gif").isEmpty)
  }

  @Test func `markup that contradicts the image is a finding`() {
    func claims(_ set: (inout ImageClaims) -> Void) -> [ImageClaims] {
      var claims = ImageClaims()
      claims.hasSizes = true
      set(&claims)
      return [claims]
    }
    #expect(findings(good(), claims: claims { $0.sourceWidth = 100 }).isEmpty)
    #expect(findings(good(), claims: claims { ($0.width, $0.height) = (50, 40) }).isEmpty)
    #expect(findings(good(), claims: claims { ($0.width, $0.height) = (33, 26) }).isEmpty)
    let wrong: [[ImageClaims]] = [
      claims { $0.sourceWidth = 110 }, claims { ($0.sourceWidth, $0.hasSizes) = (100, false) },
      claims { ($0.width, $0.height) = (50, 50) }, claims { ($0.density, $0.width) = (2, 80) }, claims { $0.format = .webp },
    ]
    for claims in wrong {
      let found = findings(good(), claims: claims)
      #expect(found.count == 1 && found[0].hasPrefix("markup: "))
      expectGolden(found.joined())
    }
  }

  @Test func `an image with far more pixels than its page asks for is oversized, unless a place doesn't say`() {
    let photo = good { ($0.width, $0.height, $0.bytes) = (2000, 1000, 400_000) }
    let asked = ImageClaims(width: 100, height: 50)
    let found = findings(photo, claims: [asked])
    #expect(found == ["oversized: 2,000 pixels wide, but its page asks for at most 300"])
    #expect(findings(photo, claims: [asked, ImageClaims(width: 700, height: 350)]).isEmpty)
    var unknown = ImageClaims()
    unknown.density = 1
    #expect(findings(photo, claims: [asked, unknown]).isEmpty)
  }

  @Test func `images far above the median bytes per pixel of their format are oversized`() throws {
    let run = makeRun(manifests: ["urls.txt"], lint: all)
    for number in 0..<40 {
      let result = good {
        ($0.width, $0.height, $0.bytes, $0.checksum) = (1000, 1000, 200_000, Checksum(high: 1, low: UInt64(number)))
      }
      record(result, "https://a.example/\(number).jpg", in: run)
    }
    record(good { ($0.width, $0.height, $0.bytes) = (1000, 1000, 2_000_000) }, "https://a.example/big.jpg", in: run)
    record(good { ($0.width, $0.height, $0.bytes) = (1000, 1000, 700_000) }, "https://a.example/large.jpg", in: run)
    let summary = try #require(run.finish(makeEnd()).lint.first)
    #expect(summary.rule == .oversized && summary.count == 1)
    #expect(summary.examples.map(\.url) == ["https://a.example/big.jpg"])
    #expect((1_750_000...1_850_000).contains(summary.savedBytes) && summary.savedBytes == summary.examples[0].savedBytes)
  }

  @Test func `the same bytes under another URL are a finding with the first URL`() {
    let run = makeRun(manifests: ["urls.txt"], lint: all)
    let result = good { $0.checksum = Checksum(high: 1, low: 1) }
    for number in 1...3 { record(result, "https://a.example/\(number).jpg", in: run) }
    record(result, "https://a.example/1.jpg", in: run)
    let report = run.finish(makeEnd())
    #expect(report.lint.map(\.count) == [2] && report.lint[0].savedBytes == 10_000)
    #expect(report.lint[0].examples.allSatisfy { $0.message == "the same bytes as https://a.example/1.jpg" })
  }

  @Test func `a certificate counts once per host, and cached images as not judged`() {
    let run = makeRun(manifests: ["urls.txt"], lint: all)
    var facts = Self.good
    facts.certificateEnd = nineOClock
    for number in 1...3 { record(good(facts), "https://a.example/\(number).jpg", in: run) }
    record(good(nil) { $0.outcome = .hitDisk }, "https://a.example/4.jpg", in: run)
    let summaries = run.finish(makeEnd()).lint
    #expect(summaries.first { $0.rule == .certificate }?.count == 1)
    #expect(
      summaries.filter { $0.unjudged == 1 }.map(\.rule.name).sorted() == [
        "cache-control", "certificate", "no-validator", "redirect", "vary-missing",
      ]
    )
  }

  @Test func `findings beyond a limit break the rules of the run, and survive a JSON report`() throws {
    var failOn = FailOn()
    failOn.lint = [.insecure: .count(1)]
    let run = makeRun(manifests: ["urls.txt"], lint: all)
    record(good(), "http://a.example/1.jpg", in: run)
    #expect(run.finish(makeEnd(), failOn: failOn).exitStatus == .withinLimits)
    record(good(), "http://a.example/2.jpg", in: run)
    let report = run.finish(makeEnd(), failOn: failOn)
    #expect(report.exitStatus == .beyondLimits && report.verdict.reasons == ["lint insecure: 2 URLs (limit 1)"])
    let json = JSONReport().text(report)
    let read = try Array(json.utf8).withUnsafeBytes { bytes in
      let document = try JSONDocument(bytes)
      return try withExtendedLifetime(document) { try JSONReport.read(document.root) }
    }
    #expect(read.lint == report.lint && read.failOn == failOn)
    #expect(TextReport().text(report).contains("insecure"))
    let merged = FinishedReport(merging: [report, report])
    #expect(merged.lint[0].count == 4 && merged.lint[0].examples.count == 4)
  }

  @Test func `a 304 may leave out headers that haven't changed`() {
    var facts = DeliveryFacts()
    (facts.isNotModified, facts.hasValidator) = (true, true)
    #expect(findings(good(facts) { $0.outcome = .revalidated }).isEmpty)
  }

  @Test func `a URL that names the format of the image doesn't negotiate it`() {
    let webp = good { $0.format = .webp }
    for url in ["https://a.example/1.jpg?fm=webp", "https://a.example/f_webp/1.jpg", "https://a.example/format(WebP)/1.jpg"] {
      #expect(findings(webp, url: url).isEmpty)
    }
    #expect(findings(webp).count == 1)
  }

  @Test func `sizes are those that browsers show, turned by the EXIF orientation`() {
    let turned = good { $0.metadata.orientation = 6 }
    #expect(findings(turned, claims: [ImageClaims(width: 80, height: 100)]).isEmpty)
    #expect(findings(turned, claims: [ImageClaims(width: 100, height: 80)]).count == 1)
  }

  @Test func `an animation is one even if only its first picture was read`() {
    let gif = good { ($0.format, $0.isAnimated, $0.bytes) = (.gif, true, 300_000) }
    #expect(findings(gif, url: "https://a.example/1.gif").map { $0.prefix(9) } == ["gif-video"])
  }

  @Test func `transformed images in the cache, and those without a header, aren't judged`() {
    let wrong = [ImageClaims(width: 80, height: 100)]
    let unread = good { ($0.width, $0.height, $0.format) = (0, 0, nil) }
    #expect(findings(unread, claims: wrong).isEmpty)
    var transforms = all
    transforms.cachesOriginals = false
    let hit = good(nil) { $0.outcome = .hitDisk }
    #expect(findings(hit, claims: wrong, lint: transforms).isEmpty && findings(hit, claims: wrong).count == 1)
    let run = makeRun(manifests: ["urls.txt"], lint: transforms)
    record(hit, "https://a.example/1.jpg", wrong, in: run)
    #expect(run.finish(makeEnd()).lint.contains { $0.rule == .markup && $0.unjudged == 1 })
  }

  @Test func `a certificate after a redirect is that of the host where it leads`() {
    var facts = Self.good
    facts.certificateEnd = nineOClock
    let run = makeRun(manifests: ["urls.txt"], lint: all)
    record(good(facts, finalURL: "https://***@b.example:444/1.jpg"), "https://a.example/1.jpg", in: run)
    record(good(facts), "https://a.example/2.jpg", in: run)
    let certificate = run.finish(makeEnd()).lint.first { $0.rule == .certificate }
    #expect(certificate?.examples.map(\.url) == ["https://a.example", "https://b.example:444"])
  }

  @Test func `findings that follow from the settings of a host take one line per host`() throws {
    let run = makeRun(manifests: ["urls.txt"], lint: all)
    var facts = DeliveryFacts()
    facts.hasValidator = true
    for index in 0..<1200 {
      facts.cacheControl = "max-age=\(index % 2 == 0 ? 60 : 120)"
      record(good(facts), "https://a.example/\(index).jpg", in: run)
    }
    let report = run.finish(makeEnd())
    let summary = try #require(report.lint.first { $0.rule == .cacheControl })
    #expect(summary.count == 1200)
    let phrase = "1,200 URLs: max-age=…, less than 86,400 seconds"
    #expect(summary.hosts.map { "\($0.host) \($0.phrase(.cacheControl))" } == ["a.example \(phrase)"])
    let forms = [TextReport(width: 120).text(report), MarkdownReport().text(report), HTMLReport().text(report)]
    for form in forms { #expect(form.contains(phrase) && !form.contains("https://a.example/1.jpg")) }
    let folder = TemporaryDirectory()
    folder.write(JSONReport().text(report), to: "report.json")
    #expect(try folder.report("report.json").lint == report.lint)
    #expect(FinishedReport(merging: [report, report]).lint.first { $0.rule == .cacheControl }?.hosts.first?.count == 2400)
  }
}
