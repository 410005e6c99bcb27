import Base

/// A rule about the delivery of good images; few, each worth acting on.
package enum LintRule: UInt8, Sendable, CaseIterable, Hashable {
  case cacheControl, noValidator, varyMissing, redirect, insecure, oversized, metadata, gifVideo, duplicate, certificate, markup

  /// The name in job files and reports, such as `cache-control`.
  package var name: String { Self.names[Int(rawValue)] }
  private static let names = allCases.map { hyphenated("\($0)") }

  package init?(name: String) {
    guard let rule = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = rule
  }

  /// Whether it judges the headers of a response, so that an image found in the cache isn't judged.
  package var judgesResponses: Bool { [.cacheControl, .noValidator, .varyMissing, .redirect, .certificate].contains(self) }

  /// Whether it judges the image that the server sends: not a transformed one in the cache, nor one whose header wasn't read.
  package var judgesImages: Bool { [.oversized, .metadata, .gifVideo, .markup].contains(self) }

  /// Whether its findings follow from the settings of a host, so that one line per host says all.
  package var isOfHosts: Bool { [.cacheControl, .noValidator, .varyMissing, .insecure].contains(self) }

  /// What it finds, in a few words.
  package var summary: String {
    switch self {
    case .cacheControl: "Cache-Control is absent, contradictory, or allows less than min-age"
    case .noValidator: "the response has neither ETag nor Last-Modified"
    case .varyMissing: "the format isn't the extension's, but Vary doesn't name Accept"
    case .redirect: "the URL redirects"
    case .insecure: "the URL is an http URL"
    case .oversized: "four times the median bytes per pixel, or twice the width asked for"
    case .metadata: "a GPS position, an embedded thumbnail, or large EXIF metadata"
    case .gifVideo: "an animated GIF of at least 100 KiB"
    case .duplicate: "another URL has the same bytes"
    case .certificate: "the server's certificate expires within expires-within"
    case .markup: "srcset, type, or width and height of a page contradict the image"
    }
  }

  /// Why it matters, in a few words.
  package var reason: String {
    switch self {
    case .cacheControl: "browsers and CDNs ask for the image again"
    case .noValidator: "an expired copy can't be confirmed, so it is sent again"
    case .varyMissing: "a CDN may send a format that a browser can't show"
    case .redirect: "each view takes one more round trip"
    case .insecure: "anyone on the way can read and change it, and pages on https may not show it"
    case .oversized: "users download bytes that they don't see"
    case .metadata: "it can say where a photo was taken, and it adds bytes"
    case .gifVideo: "the same animation as video or animated WebP has a fraction of the bytes"
    case .duplicate: "browsers cache each URL on its own"
    case .certificate: "browsers refuse the host once it has expired"
    case .markup: "browsers choose the wrong candidate, or move the page while it loads"
    }
  }
}

/// Some rules, without memory of their own, since each entry has such a set.
struct LintRuleSet: Sendable, Equatable {
  private var bits: UInt16 = 0

  var isEmpty: Bool { bits == 0 }

  mutating func insert(_ rule: LintRule) { bits |= 1 << rule.rawValue }

  /// The names in the order of the cases.
  var names: [String] { LintRule.allCases.filter { bits & 1 << $0.rawValue != 0 }.map(\.name) }
}

/// What a finding means for the verdict.
package enum LintSeverity: String, Sendable, CaseIterable {
  case off, warn, fail
}

/// The rules that a run applies.
package struct Lint: Sendable, Hashable {
  /// The severity of rules without their own.
  package var all = LintSeverity.off
  package var severities: [LintRule: LintSeverity] = [:]
  /// The shortest time for which `Cache-Control` should allow reuse.
  package var minimumAge = Duration.seconds(86_400)
  /// Whether images found in the cache are those that servers sent, not transformed ones.
  package var cachesOriginals = true
  /// How long before its end a certificate is reported.
  package var certificateMargin = Duration.seconds(14 * 86_400)

  public init() {}

  package func severity(_ rule: LintRule) -> LintSeverity { severities[rule] ?? all }

  /// The severity that a rule has of its own.
  package subscript(rule: LintRule) -> LintSeverity? {
    get { severities[rule] }
    set { severities[rule] = newValue }
  }

  package func isOn(_ rule: LintRule) -> Bool { severity(rule) != .off }

  package var isOff: Bool { !LintRule.allCases.contains(where: isOn) }
}
