import CCurl
import ImageURLs

extension DownloadOptions.Connection {
  /// Why no request can be made so, in one sentence without secrets; nil where nothing is in the way.
  ///
  /// What comes from a file is asked before it becomes options, which trap on a problem.
  public var problem: String? {
    if let target = connectTo.first(where: { !$0.isValid }) {
      return "connect-to: \(target.text) is no host and port to connect to"
    }
    if case .url(let url) = proxy, !Self.isProxy(url) {
      return "proxy: \(maskingCredentials(url)) is no http, https, socks4, socks4a, socks5 or socks5h URL of a host alone"
    }
    if tls.clientKey != nil, tls.clientCertificate == nil { return "tls: a client key needs its client certificate" }
    for path in [tls.caFile, tls.clientCertificate, tls.clientKey] where path?.isEmpty == true || path?.utf8.contains(0) == true {
      return "tls: a file needs a name"
    }
    if addresses == .publicOnly, proxy != .none {
      return "addresses: with a proxy, which connects itself, nobody can hold them to public ones"
    }
    return nil
  }

  /// Whether libcurl reads it as a proxy of a kind that it knows; one of an unknown scheme would not be used, or as another kind.
  private static func isProxy(_ text: String) -> Bool {
    guard text.utf8.allSatisfy({ $0 > 32 && $0 < 127 }), let handle = curl_url() else { return false }
    defer { curl_url_cleanup(handle) }
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME)
    guard curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK else { return false }
    let part = { (part: CURLUPart, flags: Int32) -> String? in
      var text: UnsafeMutablePointer<CChar>?
      guard curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK, let text else { return nil }
      defer { curl_free(text) }
      return String(cString: text)
    }
    let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
    guard let scheme = part(CURLUPART_SCHEME, 0), schemes.contains(scheme), part(CURLUPART_HOST, 0)?.isEmpty == false else {
      return false
    }
    // Decoding refuses control characters.
    for secret in [CURLUPART_USER, CURLUPART_PASSWORD] where part(secret, 0) != nil && part(secret, CURLU_URLDECODE) == nil {
      return false
    }
    return ["", "/"].contains(part(CURLUPART_PATH, 0) ?? "") && part(CURLUPART_QUERY, 0) == nil
      && part(CURLUPART_FRAGMENT, 0) == nil
  }
}

extension DownloadOptions.ConnectTarget {
  /// As curl writes it: `HOST:PORT:CONNECT-HOST:CONNECT-PORT`, each of which may be empty.
  var text: String {
    "\(host ?? ""):\(port.map(String.init) ?? ""):\(targetHost ?? ""):\(targetPort.map(String.init) ?? "")"
  }

  var isValid: Bool {
    [host, targetHost].allSatisfy { $0.map(Self.isHost) ?? true }
      && [port, targetPort].allSatisfy { $0.map { 1...65535 ~= $0 } ?? true }
  }

  private static func isHost(_ text: String) -> Bool {
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let inner = isBracketed ? text.dropFirst().dropLast() : text[...]
    return !inner.isEmpty
      && inner.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        case UInt8(ascii: ":"): isBracketed
        default: "-._".utf8.contains(byte)
        }
      }
  }
}
