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

struct LintFinding: Sendable {
  var rule: LintRule
  /// One sentence without a full stop; text from outside isn't escaped yet.
  var message: String
  /// The bytes that each view would save.
  var savedBytes: UInt64 = 0
}

/// Judges a good entry by the rules that need no other entry.
struct LintJudge {
  /// Smaller animations are hardly worth a video.
  private static let leastVideoBytes: UInt64 = 100 << 10
  /// How much a video or an animated WebP of the same quality saves at least.
  private static let videoSaving = 0.6
  /// The pixels per CSS pixel of phones with the finest screens.
  private static let greatestDensity = 3.0
  /// How many times wider than asked an image must be: below, a candidate of the next size is a usual choice.
  private static let widthRatio = 2.0

  let lint: Lint
  let now: Timestamp

  /// Judges an entry; `seesImage` if its result describes the image that the server sends.
  func findings(_ result: EntryResult, of entry: ReportedEntry, seesImage: Bool) -> [LintFinding] {
    var findings: [LintFinding] = []
    func add(_ rule: LintRule, _ finding: @autoclosure () -> (String, UInt64)?) {
      guard lint.isOn(rule), let (message, saved) = finding() else { return }
      findings.append(LintFinding(rule: rule, message: groupingDigits(in: message), savedBytes: saved))
    }
    if let delivery = result.delivery {
      add(.cacheControl, cacheControl(delivery).map { ($0, 0) })
      add(.noValidator, delivery.hasValidator ? nil : ("neither ETag nor Last-Modified", 0))
      add(.varyMissing, varyMissing(delivery, result, entry).map { ($0, 0) })
      add(.redirect, result.finalURL.map { ("redirects to \($0.quotable)", 0) })
      add(.certificate, certificate(delivery).map { ($0, 0) })
    }
    add(.insecure, entry.url.starts(with: "http:".utf8) ? ("the URL is an http URL", 0) : nil)
    guard seesImage else { return findings }
    add(.metadata, metadata(result))
    add(.gifVideo, gifVideo(result))
    let shown = result.asShown
    if shown.width > 0, shown.height > 0, let note = entry.note, !note.claims.isEmpty {
      // What other pages ask for is unknown.
      if note.pages <= 1 { add(.oversized, tooManyPixels(shown, note.claims)) }
      add(.markup, note.claims.lazy.compactMap { contradiction(shown, $0) }.first.map { ($0, 0) })
    }
    return findings
  }

  // MARK: Responses

  private func cacheControl(_ delivery: DeliveryFacts) -> String? {
    guard let text = delivery.cacheControl else {
      // That of the cached response still counts (RFC 9111, section 4.3.4).
      if delivery.isNotModified { return nil }
      return delivery.hasExpires ? "only Expires, no Cache-Control" : "no Cache-Control"
    }
    let directives = text.lowercased().split(separator: ",").map { $0.filter { !$0.isWhitespace && $0 != "\"" } }
    let ages = directives.filter { $0.hasPrefix("max-age=") }.map { Int64($0.dropFirst(8)) }
    let forbids = directives.first { $0 == "no-store" || $0 == "no-cache" }
    if let forbids, ages.contains(where: { $0 ?? 0 > 0 }) || directives.contains("immutable") {
      return "'\(text.quotable)' contradicts itself: \(forbids) and a time"
    }
    if Set(ages).count > 1 { return "'\(text.quotable)' has several max-age" }
    if directives.contains("public"), directives.contains("private") {
      return "'\(text.quotable)' contradicts itself: public and private"
    }
    if let forbids { return "\(forbids), so that every view asks the server" }
    guard let age = ages.first else { return "'\(text.quotable)' has no max-age" }
    guard let age else { return "'\(text.quotable)' has a max-age that isn't a number" }
    let least = lint.minimumAge.inSeconds
    return Double(age) < least ? "max-age=\(age), less than \(Int64(least)) seconds" : nil
  }

  /// Whether the extension names another format than the bytes have, which `Accept` decides then.
  private func varyMissing(_ delivery: DeliveryFacts, _ result: EntryResult, _ entry: ReportedEntry) -> String? {
    guard let format = result.image.format, let named = Self.format(ofExtension: entry.url), named != format else { return nil }
    // The URL itself may ask for a format, such as by fm=webp.
    guard !Self.names(format, in: entry.url) else { return nil }
    let names = (delivery.vary ?? "").lowercased().split(separator: ",").map { $0.filter { !$0.isWhitespace } }
    guard !names.contains("accept"), !names.contains("*") else { return nil }
    return "the server sent \(format.name) for a URL of \(named.name), but Vary doesn't name Accept"
  }

  private static func format(ofExtension url: UnsafeRawBufferPointer) -> ImageFormat? {
    let end = url.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? url.count
    guard let dot = url[..<end].lastIndex(of: UInt8(ascii: ".")), (3...4).contains(end - dot - 1) else { return nil }
    return ImageFormat(fileExtension: String(decoding: url[(dot + 1)..<end], as: UTF8.self))
  }

  /// Whether a URL has the name of a format, in any letter case.
  private static func names(_ format: ImageFormat, in url: UnsafeRawBufferPointer) -> Bool {
    let text = String(decoding: url, as: UTF8.self).lowercased()
    return text.contains(format.name) || format == .jpeg && text.contains("jpg")
  }

  private func certificate(_ delivery: DeliveryFacts) -> String? {
    guard let end = delivery.certificateEnd, end < now.advanced(by: lint.certificateMargin) else { return nil }
    let days = Int(end.since(now).inSeconds / 86_400)
    return "the certificate expires in \(counted(UInt64(max(0, days)), "day")), \(end.shortText)"
  }

  // MARK: Images

  private func metadata(_ result: EntryResult) -> (String, UInt64)? {
    var found: [String] = []
    if result.image.metadata.hasPosition { found.append("a GPS position") }
    if result.image.metadata.hasThumbnail { found.append("an embedded thumbnail") }
    if result.image.metadata.isEXIFLarge { found.append("more than 16 KiB of EXIF") }
    return found.isEmpty ? nil : (found.joined(separator: ", "), result.image.metadata.isEXIFLarge ? 16 << 10 : 0)
  }

  private func gifVideo(_ result: EntryResult) -> (String, UInt64)? {
    guard result.image.format == .gif, result.image.frames > 1 || result.image.isAnimated, result.bytes >= Self.leastVideoBytes
    else { return nil }
    return ("an animated GIF of \(byteCount(Double(result.bytes)))", UInt64(Double(result.bytes) * Self.videoSaving))
  }

  /// Pixels beyond those that any place of the page asks for.
  private func tooManyPixels(_ result: EntryResult, _ claims: [ImageClaims]) -> (String, UInt64)? {
    guard result.image.format != .svg else { return nil }
    // A place that doesn't say how wide the image is shown may show it in full.
    let asked = claims.map { claims -> Double? in
      if let width = claims.sourceWidth { return Double(width) }
      return claims.width.map { Double($0) * (claims.density ?? Self.greatestDensity) }
    }
    guard !asked.contains(nil), let widest = asked.compactMap(\.self).max(), widest > 0 else { return nil }
    let ratio = Double(result.image.width) / widest
    guard ratio > Self.widthRatio else { return nil }
    let saved = Double(result.bytes) * (1 - 1 / (ratio * ratio))
    return ("\(result.image.width) pixels wide, but its page asks for at most \(Int(widest))", UInt64(saved))
  }

  /// What the markup says otherwise; sizes may differ by a pixel, since they are rounded.
  private func contradiction(_ result: EntryResult, _ claims: ImageClaims) -> String? {
    let (width, height) = (Double(result.image.width), Double(result.image.height))
    if let format = claims.format, let actual = result.image.format, format != actual {
      return "type is \(format.mediaType), but the image is \(actual.name)"
    }
    guard result.image.format != .svg else { return nil }
    if let source = claims.sourceWidth, abs(Double(source) - width) > 1 {
      return "srcset says \(source)w, but the image is \(result.image.width) pixels wide"
    }
    if claims.sourceWidth != nil, !claims.hasSizes { return "srcset has widths, but the element has no sizes" }
    if let density = claims.density, let shown = claims.width, density > 0, shown > 0,
      abs(Double(shown) * density - width) > max(1, density)
    {
      return "srcset says \(Self.text(density))x and width is \(shown), but the image is \(result.image.width) pixels wide"
    }
    if let shownWidth = claims.width, let shownHeight = claims.height, shownWidth > 0, shownHeight > 0 {
      // The height that follows from the width.
      let expected = Double(shownWidth) * height / width
      guard abs(expected - Double(shownHeight)) > max(1, expected * 0.01) else { return nil }
      return
        "width and height are \(shownWidth) x \(shownHeight), but the image is \(result.image.width) x \(result.image.height) pixels"
    }
    return nil
  }

  private static func text(_ density: Double) -> String {
    density == density.rounded() && density < 1e6 ? "\(Int(density))" : "\(density)"
  }
}

extension EntryResult {
  /// The same with the size as browsers show the image, turned by its EXIF orientation.
  fileprivate var asShown: EntryResult {
    guard image.metadata.orientation >= 5 else { return self }
    var shown = self
    (shown.width, shown.height) = (image.height, image.width)
    return shown
  }
}
