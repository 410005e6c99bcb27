/// A rule about the delivery of good images; few, each worth acting on.
package enum LintRule: UInt8, Sendable, CaseIterable, Hashable {
  /// `Cache-Control` is absent, contradicts itself, or allows too short a time.
  case cacheControl
  /// There is neither `ETag` nor `Last-Modified`.
  case noValidator
  /// The server chooses the format by `Accept`, but `Vary` doesn't say so.
  case varyMissing
  /// The URL redirects.
  case redirect
  /// The URL is an http URL.
  case insecure
  /// The image has far more bytes or pixels than others, or than its page shows.
  case oversized
  /// The file has a GPS position, a thumbnail, or large EXIF metadata.
  case metadata
  /// The animation is a GIF.
  case gifVideo
  /// Another URL has the same bytes.
  case duplicate
  /// The server's certificate expires soon.
  case certificate
  /// The page says something else about the image than it is.
  case markup

  /// The name in job files and reports.
  package var name: String {
    switch self {
    case .cacheControl: "cache-control"
    case .noValidator: "no-validator"
    case .varyMissing: "vary-missing"
    case .redirect: "redirect"
    case .insecure: "insecure"
    case .oversized: "oversized"
    case .metadata: "metadata"
    case .gifVideo: "gif-video"
    case .duplicate: "duplicate"
    case .certificate: "certificate"
    case .markup: "markup"
    }
  }

  package init?(name: String) {
    guard let rule = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = rule
  }

  /// Whether it judges the headers of a response, so that an image found in the cache isn't judged.
  package var judgesResponses: Bool {
    switch self {
    case .cacheControl, .noValidator, .varyMissing, .redirect, .certificate: true
    case .insecure, .oversized, .metadata, .gifVideo, .duplicate, .markup: false
    }
  }

  /// Whether it judges the image that the server sends: not a transformed one in the cache, nor one whose header wasn't read.
  package var judgesImages: Bool {
    switch self {
    case .oversized, .metadata, .gifVideo, .markup: true
    case .cacheControl, .noValidator, .varyMissing, .redirect, .insecure, .duplicate, .certificate: false
    }
  }

  /// Whether its findings follow from the settings of a host, so that one line per host says all.
  package var isOfHosts: Bool {
    switch self {
    case .cacheControl, .noValidator, .varyMissing, .insecure: true
    case .redirect, .oversized, .metadata, .gifVideo, .duplicate, .certificate, .markup: false
    }
  }

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
