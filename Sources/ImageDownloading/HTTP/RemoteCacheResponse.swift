package import Base

/// What a response's headers say about the caches on its way. If there are several caches, the one nearest to us counts.
///
/// The first of these headers that gives a status counts: `Cache-Status` (RFC 9211), `CF-Cache-Status` (Cloudflare), `CDN-Cache`
/// (Bunny), `X-Cache` (CloudFront, Fastly, Akamai, Azure, Varnish), `X-Cache-Status` and `X-Proxy-Cache` (nginx), the metric `cdn-cache`
/// of `Server-Timing` (Akamai), `Age` above 0 (RFC 9111, section 5.1). An `Age` of 0 is ignored: a response stored a moment ago has it too.
package struct RemoteCacheResponse: Sendable, Hashable {
  package var status: RemoteCacheStatus
  /// The header that gives the status, such as `X-Cache: MISS`, as the server wrote it, cut to 200 characters; nil if there is none.
  package var evidence: String?
  /// Why the second request failed; nil if it didn't.
  package var failure: ImageFailure?

  package init(_ status: RemoteCacheStatus, evidence: String? = nil, failure: ImageFailure? = nil) {
    self.status = status
    self.evidence = evidence
    self.failure = failure
  }

  private static let sources: [(ResponseFields.Name, header: String, read: @Sendable (String) -> RemoteCacheStatus?)] = [
    (.cacheStatus, "Cache-Status", status(ofCacheStatus:)),
    (.cloudflareCacheStatus, "CF-Cache-Status", cloudflareStatus),
    (.bunnyCache, "CDN-Cache", status(ofWords:)),
    (.xCache, "X-Cache", status(ofWords:)),
    (.xCacheStatus, "X-Cache-Status", status(ofWords:)),
    (.xProxyCache, "X-Proxy-Cache", status(ofWords:)),
    (.serverTiming, "Server-Timing", status(ofServerTiming:)),
    (.age, "Age", status(ofAge:)),
  ]

  init(_ fields: ResponseFields) {
    for (name, header, read) in Self.sources {
      guard let value = fields.joined(name), let status = read(value) else { continue }
      self.init(status, evidence: "\(header): \(value)".quotable)
      return
    }
    self.init(.unknown)
  }

  // MARK: Headers

  /// RFC 9211, section 2: the last member is of the cache nearest to us. A member with neither `hit` nor `fwd` is skipped. A cache
  /// that revalidated its stale copy (304) had the image.
  private static func status(ofCacheStatus value: String) -> RemoteCacheStatus? {
    let list = FieldList(value)
    for member in list.members.reversed() {
      if member.isTrue("hit") { return .hit }
      guard let reason = member.text("fwd") else { continue }
      return reason == "stale" && member.text("fwd-status") == "304" ? .hit : .miss
    }
    // Caches used the name before the standard.
    return status(of: list)
  }

  /// Any other word of Cloudflare's means that its cache wasn't used.
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

  /// The status that the first word of `text` stands for, such as `Hit from cloudfront`, `TCP_REFRESH_HIT` or `EXPIRED`.
  private static func status(ofWord text: String) -> RemoteCacheStatus? {
    let word = text.prefix { $0 != " " && $0 != "\t" }.uppercased()
    let isMiss = ["MISS", "PASS", "NOCACHE", "NOSTORE", "UNCACHE", "EXPIRED"].contains { word.contains($0) }
    // Squid and Akamai write TCP_EXPIRED_HIT if they served a stale copy because the origin was down.
    if isMiss, word != "TCP_EXPIRED_HIT" { return .miss }
    if word.contains("HIT") { return .hit }
    return switch word {
    case "STALE", "REVALIDATED", "UPDATING", "CACHED": .hit
    case "DYNAMIC", "NONE", "IGNORED": .miss
    default: nil
    }
  }
}

/// A header's value as members with parameters (RFC 9651, section 3.1), parsed leniently: junk becomes a member with an odd name.
struct FieldList {
  struct Member {
    /// The item itself, without quotes.
    let name: String
    private let parameters: [(name: String, value: String?)]

    fileprivate init(_ text: ArraySlice<UInt8>) {
      var parts: [ArraySlice<UInt8>] = []
      text.forEachPart(separatedBy: UInt8(ascii: ";")) { parts.append($0) }
      let string = { (text: ArraySlice<UInt8>) in String(decoding: text.unquoted, as: UTF8.self) }
      name = string(parts[0])
      parameters = parts.dropFirst().map { part in
        let sides = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        return (string(sides[0]).lowercased(), sides.count > 1 ? string(sides[1]) : nil)
      }
    }

    /// Whether the parameter exists and isn't false; one without a value is true.
    func isTrue(_ name: String) -> Bool {
      parameters.last { $0.name == name }.map { $0.value == nil || $0.value == "?1" } ?? false
    }

    /// The value of the parameter; empty if it has none.
    func text(_ name: String) -> String? { parameters.last { $0.name == name }.map { $0.value?.lowercased() ?? "" } }
  }

  let members: [Member]

  init(_ value: String) {
    var members: [Member] = []
    Array(value.utf8)[...].forEachPart(separatedBy: UInt8(ascii: ",")) { members.append(Member($0)) }
    self.members = members.filter { !$0.name.isEmpty }
  }
}
