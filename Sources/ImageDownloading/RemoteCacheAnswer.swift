public import ImagePrimitives

/// What an answer's headers tell of the caches on its way; where there are several, the word of the one nearest to us counts.
///
/// The first of these that tells is believed: `Cache-Status` (RFC 9211), `CF-Cache-Status` (Cloudflare), `CDN-Cache` (Bunny), `X-Cache`
/// (CloudFront, Fastly, Akamai, Azure, Varnish), `X-Cache-Status` and `X-Proxy-Cache` (nginx), the metric `cdn-cache` of `Server-Timing`
/// (Akamai), `Age` above 0 (RFC 9111, section 5.1). An `Age` of 0 tells nothing: what was stored a moment ago has no other.
public struct RemoteCacheAnswer: Sendable, Hashable {
  /// What they had.
  public var status: RemoteCacheStatus
  /// The header that tells, such as `X-Cache: MISS`; nil where none does. It is what a server wrote, cut to 200 characters.
  public var evidence: String?
  /// Why the second request brought no answer, in a sentence; nil where it did.
  public var failure: String?

  /// An answer of those parts.
  public init(_ status: RemoteCacheStatus, evidence: String? = nil, failure: String? = nil) {
    self.status = status
    self.evidence = evidence
    self.failure = failure
  }

  private static let sources: [(AnswerFields.Name, header: String, read: @Sendable (String) -> RemoteCacheStatus?)] = [
    (.cacheStatus, "Cache-Status", status(ofCacheStatus:)),
    (.cloudflareCacheStatus, "CF-Cache-Status", cloudflareStatus),
    (.bunnyCache, "CDN-Cache", status(ofWords:)),
    (.xCache, "X-Cache", status(ofWords:)),
    (.xCacheStatus, "X-Cache-Status", status(ofWords:)),
    (.xProxyCache, "X-Proxy-Cache", status(ofWords:)),
    (.serverTiming, "Server-Timing", status(ofServerTiming:)),
    (.age, "Age", status(ofAge:)),
  ]

  init(_ fields: AnswerFields) {
    for (name, header, read) in Self.sources {
      guard let value = fields.joined(name), let status = read(value) else { continue }
      self.init(status, evidence: "\(header): \(value)".quotable)
      return
    }
    self.init(.unknown)
  }

  // MARK: Headers

  /// RFC 9211, section 2: the last member is of the cache nearest to us. One that tells neither `hit` nor why it asked (`fwd`) leaves that to
  /// those behind it; one that asked whether its old image was still right (304) had it.
  private static func status(ofCacheStatus value: String) -> RemoteCacheStatus? {
    let list = FieldList(value)
    for member in list.members.reversed() {
      if member.isTrue("hit") { return .hit }
      guard let reason = member.text("fwd") else { continue }
      return reason == "stale" && member.text("fwd-status") == "304" ? .hit : .miss
    }
    // As caches wrote it before there was a standard.
    return status(of: list)
  }

  /// Any other word of Cloudflare's says that its cache was not used.
  private static func cloudflareStatus(_ value: String) -> RemoteCacheStatus? {
    FieldList(value).members.last.map { status(ofWord: $0.name) ?? .miss }
  }

  private static func status(ofWords value: String) -> RemoteCacheStatus? { status(of: FieldList(value)) }

  private static func status(of list: FieldList) -> RemoteCacheStatus? {
    list.members.reversed().lazy.compactMap { status(ofWord: $0.name) }.first
  }

  private static func status(ofServerTiming value: String) -> RemoteCacheStatus? {
    FieldList(value).members.last { $0.name.lowercased() == "cdn-cache" }?.text("desc").flatMap(status(ofWord:))
  }

  private static func status(ofAge value: String) -> RemoteCacheStatus? {
    guard let seconds = FieldList(value).members.first?.name.utf8, seconds.allSatisfy({ (48...57).contains($0) }) else {
      return nil
    }
    return seconds.contains { $0 > 48 } ? .hit : nil
  }

  /// What the first word of `text` says, such as `Hit from cloudfront`, `TCP_REFRESH_HIT` or `EXPIRED`; nil where it is none of a cache's.
  private static func status(ofWord text: String) -> RemoteCacheStatus? {
    let word = text.prefix { $0 != " " && $0 != "\t" }.uppercased()
    let isMiss = ["MISS", "PASS", "NOCACHE", "NOSTORE", "UNCACHE", "EXPIRED"].contains { word.contains($0) }
    // Squid and Akamai write TCP_EXPIRED_HIT where an old image was served since the origin was down.
    if isMiss, word != "TCP_EXPIRED_HIT" { return .miss }
    if word.contains("HIT") { return .hit }
    return switch word {
    case "STALE", "REVALIDATED", "UPDATING", "CACHED": .hit
    case "DYNAMIC", "NONE", "IGNORED": .miss
    default: nil
    }
  }
}
