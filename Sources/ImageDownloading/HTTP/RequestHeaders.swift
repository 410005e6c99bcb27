/// The headers of requests: which of them are sent, and whether they can be.
extension DownloadOptions {
  /// The headers of a request to the download's own origin, before any hook sees them.
  ///
  /// Those of the options replace those of `defaults`, and both replace `Accept` and `User-Agent`. To other origins only the
  /// latter go. Those of `range` replace all.
  func requestHeaders(defaults: [HeaderField], isOwnOrigin: Bool = true, range: RangeRequest? = nil) -> [HeaderField] {
    let fields = requestHeaders(defaults, isOwnOrigin)
    return range?.added(to: fields) ?? fields
  }

  private func requestHeaders(_ defaults: [HeaderField], _ isOwnOrigin: Bool) -> [HeaderField] {
    var fields = [HeaderField("Accept", accept), HeaderField("User-Agent", userAgent)]
    guard isOwnOrigin, !isForOtherOrigin else { return fields }
    for own in [defaults.map { Header($0.name, $0.value) }, headers] {
      fields.removeAll { field in own.contains { $0.name.equalsIgnoringCase(field.name) } }
      for header in own { if let value = header.value { fields.append(HeaderField(header.name, value)) } }
    }
    return fields
  }

  /// The names of headers that are not to be sent, be it that libcurl would add them.
  func removedHeaders(isOwnOrigin: Bool = true) -> [String] {
    isOwnOrigin && !isForOtherOrigin ? headers.filter { $0.value == nil }.map(\.name) : []
  }

  /// What a request to the download's own origin says in that header, in whatever case; nil where it does not send it.
  ///
  /// It is what an answer's `Vary` is to be compared with. What only the time of the request tells is not in it: what hooks
  /// change, and cookies of the jar, so that with ``handlesCookies`` nobody can tell what `Cookie` says. Nor are credentials of
  /// the URL.
  ///
  /// - Parameters:
  ///   - name: the header's name.
  ///   - defaults: the downloader's own headers, ``ImageDownloader/Configuration/headers``.
  ///   - credential: what ``credential(for:)`` gives for the request's URL.
  public func requestValue(
    ofHeader name: String,
    defaults: [HeaderField] = [],
    credential: Credential? = nil
  ) -> String? {
    if let value = requestHeaders(defaults: defaults).value(of: name) { return value }
    // libcurl leaves out a header of its own that a request names, be it without a value.
    if !isForOtherOrigin, headers.contains(where: { $0.name.equalsIgnoringCase(name) }) { return nil }
    if name.equalsIgnoringCase("Authorization") { return credential?.basicAuthorization }
    return name.equalsIgnoringCase("Accept-Encoding") ? Self.acceptEncoding : nil
  }

  /// Asks for the plain body.
  static let acceptEncoding = "identity"

  /// Whether `name` is a token and `value` holds no control character (RFC 9110, 5.1 and 5.5).
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
