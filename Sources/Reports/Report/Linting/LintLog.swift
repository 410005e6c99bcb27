import Base
import Glibc

package struct LintSummary: Sendable, Equatable, Countable {
  /// How many examples a report has of each.
  static let exampleLimit = 20

  package var rule = LintRule.cacheControl
  package var severity = LintSeverity.warn
  /// The entries with a finding; for ``LintRule/certificate`` the hosts.
  public var count: UInt64 = 0
  /// The bytes that a view of each would save; 0 if that is unknown.
  package var savedBytes: UInt64 = 0
  /// Good entries that weren't judged: their response is unknown, or the image that the server sends.
  package var unjudged: UInt64 = 0
  /// Those that would save most first.
  package var examples: [LintExample] = []
  /// The hosts with most findings, for rules about hosts; empty for others.
  package var hosts: [LintHost] = []

  static var counts: KeyValuePairs<StaticString, WritableKeyPath<LintSummary, UInt64>> {
    ["count": \.count, "saved_bytes": \.savedBytes, "unjudged": \.unjudged]
  }

  /// The order of reports: what saves most bytes comes first.
  func isBefore(_ other: LintSummary) -> Bool {
    (other.savedBytes, other.count, rule.rawValue) < (savedBytes, count, other.rule.rawValue)
  }
}

package struct LintHost: Sendable, Equatable {
  public var host = ""
  public var count: UInt64 = 0
  /// That of each, in which an ellipsis stands for parts that differ; nil if messages differ in their words.
  public var message: String?
  public var firstURL = ""
}

package struct LintExample: Sendable, Equatable {
  /// The URL as in its row.
  public var url = ""
  public var manifest = ""
  /// From 1; 0 if it has no line.
  public var line: UInt64 = 0
  /// One sentence without a full stop.
  package var message = ""
  package var savedBytes: UInt64 = 0
}

/// The findings of a run, in bounded memory.
struct LintLog {
  private static let hostLimit = 65_536

  let judge: LintJudge
  private var summaries: [LintRule: LintSummary] = [:]
  private var sizes = SizeStatistics()
  /// Entries without a response, and without the image that the server sends.
  private var unjudged: UInt64 = 0
  private var unseen: UInt64 = 0
  /// By rule, and by index in the host table.
  private var ofHosts: [LintRule: [Int: OfHost]] = [:]
  /// The hosts whose certificate was reported.
  private var hosts: Set<String> = []

  private struct OfHost {
    var summary: LintHost
    /// What the messages have in common; nil if nothing.
    var pattern: MessagePattern?
    var lastMessage: String
    var place: (manifest: Int, line: UInt64)
  }

  init(_ lint: Lint, now: Timestamp) { judge = LintJudge(lint: lint, now: now) }
  private var lint: Lint { judge.lint }

  /// Judges a good entry, and returns the rules that it breaks.
  mutating func record(
    _ result: EntryResult,
    of entry: ReportedEntry,
    host index: Int?,
    manifest: String,
    repeats duplicate: SameImagesLog.Repetition?,
    in sameImages: SameImagesLog
  ) -> LintRuleSet {
    if result.delivery == nil { unjudged += 1 }
    let isHit = result.outcome == .hitDisk || result.outcome == .hitMemory
    let seesImage = (result.image.width > 0 || result.image.format == .svg) && (lint.cachesOriginals || !isHit)
    if !seesImage { unseen += 1 }
    let example = { (message: String, saved: UInt64) in
      LintExample(url: entry.shownURL, manifest: manifest, line: entry.line, message: message, savedBytes: saved)
    }
    var findings = judge.findings(result, of: entry, seesImage: seesImage)
    // A redirect is a finding of its own.
    if let duplicate, lint.isOn(.duplicate), result.finalURL == nil {
      let message =
        sameImages.firstURL(of: duplicate).map { "the same bytes as \($0.quotable)" } ?? "another URL has the same bytes"
      findings.append(LintFinding(rule: .duplicate, message: message, savedBytes: result.bytes))
    }
    // The certificate is that of the last host.
    let host = { result.finalURL.flatMap(Self.host) ?? String(decoding: entry.host, as: UTF8.self) }
    findings.removeAll { $0.rule == .certificate && !isNew(host()) }
    for finding in findings {
      if finding.rule.isOfHosts, let index { note(finding, index, entry) }
      // An example needs memory only if it is kept.
      summaries[finding.rule, default: judge.lint.empty(finding.rule)].add(finding.savedBytes) {
        guard finding.rule == .certificate else { return example(finding.message, finding.savedBytes) }
        return LintExample(url: "https://\(host())", message: finding.message)
      }
    }
    // An image that is larger than shown needs no second finding for its bytes per pixel.
    if lint.isOn(.oversized), seesImage, !findings.contains(where: { $0.rule == .oversized }) {
      sizes.add(result) { example("", 0) }
    }
    return findings.reduce(into: LintRuleSet()) { $0.insert($1.rule) }
  }

  private mutating func note(_ finding: LintFinding, _ host: Int, _ entry: ReportedEntry) {
    let place = (manifest: entry.manifest, line: entry.line)
    guard var known = ofHosts[finding.rule]?[host] else {
      guard ofHosts[finding.rule]?.count ?? 0 < FailureLog.hostLimit else { return }
      let (summary, message) = (LintHost(count: 1, firstURL: entry.shownURL), finding.message)
      let known = OfHost(summary: summary, pattern: MessagePattern(message), lastMessage: message, place: place)
      return ofHosts[finding.rule, default: [:]][host] = known
    }
    known.summary.count += 1
    // The first of the lists, whichever was received first.
    if place < known.place { (known.place, known.summary.firstURL) = (place, entry.shownURL) }
    if known.lastMessage != finding.message {
      known.pattern.keepCommonParts(with: MessagePattern(finding.message))
      known.lastMessage = finding.message
    }
    ofHosts[finding.rule]![host] = known
  }

  private mutating func isNew(_ host: String) -> Bool { hosts.count < Self.hostLimit && hosts.insert(host).inserted }

  /// The host of a URL that redirects led to.
  private static func host(of url: String) -> String? {
    guard let start = url.firstRange(of: "://")?.upperBound else { return nil }
    return url[start...].prefix { !"/?#".contains($0) }.split(separator: "@").last.map(String.init)
  }

  /// The rules with findings, and those that couldn't judge all entries, those that save most bytes first.
  func all(_ table: HostTally) -> [LintSummary] {
    var summaries = summaries
    for (rule, hosts) in ofHosts {
      let named = hosts.map { index, known in
        var summary = known.summary
        (summary.host, summary.message) = (table.name(index), known.pattern?.text)
        return summary
      }
      summaries[rule]?.hosts = LintHost.largest(named)
    }
    let excess = sizes.excess
    if excess.count > 0 { summaries[.oversized, default: judge.lint.empty(.oversized)].merge(excess) }
    for rule in LintRule.allCases where lint.isOn(rule) {
      let unjudged = rule.judgesResponses ? unjudged : rule.judgesImages ? unseen : 0
      guard unjudged > 0 else { continue }
      summaries[rule, default: judge.lint.empty(rule)].unjudged = unjudged
    }
    return LintSummary.sorted(summaries.values)
  }
}

extension Lint {
  fileprivate func empty(_ rule: LintRule) -> LintSummary { LintSummary(rule: rule, severity: severity(rule)) }
}

extension LintSummary {
  /// The order of reports; examples that save the same are in that of their lists.
  fileprivate static func sorted(_ summaries: some Sequence<LintSummary>) -> [LintSummary] {
    var sorted = summaries.sorted { $0.isBefore($1) }
    for index in sorted.indices {
      sorted[index].examples.sort {
        ($1.savedBytes, $0.manifest, $0.line, $0.url) < ($0.savedBytes, $1.manifest, $1.line, $1.url)
      }
    }
    return sorted
  }

  fileprivate mutating func add(_ saved: UInt64, _ example: () -> LintExample) {
    (count, savedBytes) = (count + 1, savedBytes + saved)
    keep(saved, example)
  }

  /// Keeps an example if it is one of those that save most, or one of the first.
  private mutating func keep(_ savedBytes: UInt64, _ example: () -> LintExample) {
    let isFull = examples.count >= Self.exampleLimit
    if isFull, let last = examples.last, last.savedBytes >= savedBytes { return }
    let index = examples.firstIndex { $0.savedBytes < savedBytes } ?? examples.endIndex
    examples.insert(example(), at: index)
    if isFull { examples.removeLast() }
  }

  static func merged(_ summaries: [LintSummary]) -> [LintSummary] { sorted(summaries.joined(by: \.rule) { $0.merge($1) }) }

  /// Adds the findings of another run or shard.
  fileprivate mutating func merge(_ other: LintSummary) {
    let hostCount = max(count, other.count)
    add(other)
    // Shards may have the same hosts.
    if rule == .certificate { count = hostCount }
    if other.severity == .fail { severity = .fail }
    hosts = LintHost.merged(hosts + other.hosts)
    for example in other.examples { keep(example.savedBytes) { example } }
  }

  /// The findings and what they cost, such as `12 URLs, 3.4 MB too much`.
  var phrase: String {
    var parts: [String] = []
    if count > 0 { parts.append(counted(count, rule == .certificate ? "host" : "URL")) }
    if savedBytes > 0 { parts.append("\(byteCount(Double(savedBytes))) too much") }
    if unjudged > 0 { parts.append("\(counted(unjudged, "image")) not judged") }
    return parts.joined(separator: ", ")
  }
}

extension LintHost {
  fileprivate static func largest(_ hosts: some Collection<LintHost>) -> [LintHost] {
    Array(hosts.sorted { ($1.count, $0.host) < ($0.count, $1.host) }.prefix(LintSummary.exampleLimit))
  }

  fileprivate static func merged(_ hosts: [LintHost]) -> [LintHost] {
    largest(
      hosts.joined(by: \.host) { host, other in
        host.count += other.count
        if host.message != other.message { host.message = nil }
      }
    )
  }

  /// `1,200 URLs: no Cache-Control`.
  func phrase(_ rule: LintRule) -> String { "\(counted(count, "URL")): \(message ?? rule.summary)" }
}

extension LintExample {
  /// Such as `urls/hero.txt:17`.
  var location: String { place(manifest.shortened(to: 160), line) }
}

/// Bytes per pixel of the images of a run, to find those far above the median of their format. Buckets of 4 % each, so that
/// memory doesn't grow with the number of images.
struct SizeStatistics {
  /// An image that may turn out to be far above the median.
  struct Candidate {
    var example: LintExample
    var format: ImageFormat
    var bytes: Double
    var pixels: Double
  }

  private struct Bucket {
    var count: UInt64 = 0
    var bytes = 0.0
    var pixels = 0.0
  }

  private struct Sizes {
    var buckets: [Int: Bucket] = [:]
    var count: UInt64 = 0
    /// Of the images so far, updated now and then; nil while there are few.
    var median: Double?

    mutating func add(bytes: Double, pixels: Double) {
      let index = SizeStatistics.index(bytes / pixels)
      var bucket = buckets[index] ?? Bucket()
      bucket.count += 1
      bucket.bytes += bytes
      bucket.pixels += pixels
      buckets[index] = bucket
      count += 1
      if count == SizeStatistics.leastImages || count.isMultiple(of: 256) { median = currentMedian }
    }

    var currentMedian: Double? {
      guard count >= SizeStatistics.leastImages else { return nil }
      var passed: UInt64 = 0
      for (index, bucket) in buckets.sorted(by: { $0.key < $1.key }) {
        passed += bucket.count
        if passed * 2 >= count { return SizeStatistics.value(index) }
      }
      return nil
    }
  }

  /// Fewer images have no usual size.
  private static let leastImages: UInt64 = 20
  private static let leastBytes: UInt64 = 20 << 10
  private static let leastPixels = 10_000.0
  private static let ratio = 4.0
  private static let candidateLimit = 64
  private static let bucketsPerDoubling = 16.0

  private var formats: [ImageFormat: Sizes] = [:]
  private var candidates: [Candidate] = []

  /// Still images of all formats with pixels count, unless they are small.
  mutating func add(_ result: EntryResult, _ example: () -> LintExample) {
    let pixels = Double(result.image.width) * Double(result.image.height)
    guard let format = result.image.format, format != .svg, result.image.frames == 1, !result.image.isAnimated,
      result.bytes >= Self.leastBytes,
      pixels >= Self.leastPixels
    else { return }
    let bytes = Double(result.bytes)
    formats[format, default: Sizes()].add(bytes: bytes, pixels: pixels)
    // By the median so far; a few that turn out to be usual are dropped in the end.
    if let median = formats[format]?.median, bytes / pixels <= median * Self.ratio / 2 { return }
    let candidate = Candidate(example: example(), format: format, bytes: bytes, pixels: pixels)
    if candidates.count < Self.candidateLimit { return candidates.append(candidate) }
    let least = candidates.indices.min { score(candidates[$0]) < score(candidates[$1]) }!
    if score(candidates[least]) < score(candidate) { candidates[least] = candidate }
  }

  /// The bytes beyond those that the median so far of its format would have.
  private func score(_ candidate: Candidate) -> Double {
    candidate.bytes - (formats[candidate.format]?.median ?? 0) * candidate.pixels
  }

  /// Images with more than four times the bytes per pixel of the median of their format, and what they would save at the median.
  var excess: LintSummary {
    var excess = LintSummary(rule: .oversized)
    let medians = formats.compactMapValues(\.currentMedian)
    for (format, median) in medians {
      for (index, bucket) in formats[format]!.buckets where index > Self.index(median * Self.ratio) {
        excess.count += bucket.count
        excess.savedBytes += UInt64(max(0, bucket.bytes - median * bucket.pixels))
      }
    }
    excess.examples = candidates.compactMap { candidate in
      guard let median = medians[candidate.format] else { return nil }
      let bytesPerPixel = candidate.bytes / candidate.pixels
      guard Self.index(bytesPerPixel) > Self.index(median * Self.ratio) else { return nil }
      var example = candidate.example
      example.savedBytes = UInt64(max(0, candidate.bytes - median * candidate.pixels))
      example.message =
        "\(fixed(bytesPerPixel, decimals: 2)) bytes per pixel, \(fixed(bytesPerPixel / median, decimals: 1)) times the median of "
        + candidate.format.name
      return example
    }
    return excess
  }

  private static func index(_ bytesPerPixel: Double) -> Int { Int((log2(bytesPerPixel) * bucketsPerDoubling).rounded(.down)) }

  /// The middle of a bucket.
  private static func value(_ index: Int) -> Double { exp2((Double(index) + 0.5) / bucketsPerDoubling) }
}
