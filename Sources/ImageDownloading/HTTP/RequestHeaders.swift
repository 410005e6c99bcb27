/// The headers of requests.
extension DownloadOptions {
  /// The headers of a request to the download's own origin, before hooks change them.
  ///
  /// The options' headers replace those of `defaults`, both replace `Accept` and `User-Agent`, and removed ones are left out. Other origins get only the
  /// latter two. The headers of `range` replace all.
  func requestHeaders(defaults: [HeaderField], isOwnOrigin: Bool = true, range: RangeRequest? = nil) -> [HeaderField] {
    let fields = requestHeaders(defaults, isOwnOrigin)
    return range?.added(to: fields) ?? fields
  }

  private func requestHeaders(_ defaults: [HeaderField], _ isOwnOrigin: Bool) -> [HeaderField] {
    var fields = [HeaderField("Accept", sentAccept), HeaderField("User-Agent", userAgent)]
    guard isOwnOrigin, !isForOtherOrigin else { return fields }
    for own in [defaults, headers] {
      fields.removeAll { field in own.contains { $0.name.equalsIgnoringCase(field.name) } }
      fields += own
    }
    fields.removeAll { field in removedHeaders.contains { $0.equalsIgnoringCase(field.name) } }
    return fields
  }

  /// The names of headers that aren't sent, not even by libcurl itself.
  func removedHeaders(isOwnOrigin: Bool) -> [String] { isOwnOrigin && !isForOtherOrigin ? removedHeaders : [] }

  /// The value of that header, case ignored, in a request to the download's own origin; nil if it isn't sent.
  ///
  /// A response's `Vary` is compared with it. It excludes values known only at the time of the request: changes by hooks and
  /// cookies of the jar, so with ``handlesCookies`` the value of `Cookie` is unknown. It also excludes credentials of the URL.
  ///
  /// - Parameters:
  ///   - name: the header's name.
  ///   - defaults: the downloader's own headers, ``ImageDownloader/Configuration/headers``.
  ///   - credential: the result of ``credential(for:)`` for the request's URL.
  package func requestValue(
    ofHeader name: String,
    defaults: [HeaderField] = [],
    credential: Credential? = nil
  ) -> String? {
    if let value = requestHeaders(defaults: defaults).value(of: name) { return value }
    if !isForOtherOrigin, removedHeaders.contains(where: { $0.equalsIgnoringCase(name) }) { return nil }
    if name.equalsIgnoringCase("Authorization") { return credential?.basicAuthorization }
    return name.equalsIgnoringCase("Accept-Encoding") ? Self.acceptEncoding : nil
  }

  /// Requests an uncompressed body.
  static let acceptEncoding = "identity"

  /// Whether `name` is a token and `value` has no control characters (RFC 9110, 5.1 and 5.5).
  public static func isValidHeader(name: String, value: String) -> Bool {
    let isToken = { (byte: UInt8) -> Bool in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
    }
    return !name.isEmpty && name.utf8.allSatisfy(isToken) && value.utf8.allSatisfy { $0 == 9 || ($0 >= 32 && $0 != 127) }
  }
}
