import Base
import CCurl

/// A mail server, and the addresses of a message. The texts have no control characters, which would add headers.
package struct Mail: Sendable {
  /// `smtp://HOST:PORT/NAME` or `smtps://…`; the name is that of EHLO.
  let server: String
  let from: String
  let to: [String]
  let user: String?
  let password: String?

  /// - Parameter server: if it has no name for EHLO, it is the sender's domain: servers reject the short names of containers.
  package init(server: String, from: String, to: [String], user: String?, password: String?) {
    let isNamed = server.drop { $0 != ":" }.dropFirst(3).contains("/")
    self.server = isNamed ? server : "\(server)/\(from.split(separator: "@").last ?? "")"
    (self.from, self.to, self.user, self.password) = (from, to, user, password)
  }

  /// The fields of a message (RFC 5322); those about its form are libcurl's.
  func headers(_ subject: String, id: String, at time: Timestamp) -> [String] {
    let domain = from.split(separator: "@").last ?? ""
    return [
      "Date: \(time.rfc5322)", "From: \(from)", "To: \(to.joined(separator: ",\r\n "))", "Subject: \(Self.encoded(subject))",
      "Message-ID: <\(id)@\(domain)>", "Auto-Submitted: auto-generated",
    ]
  }

  /// A text as encoded words (RFC 2047) of at most 75 characters, unless it is plain.
  static func encoded(_ text: String) -> String {
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }), !text.contains("=?") { return text }
    var words: [[UInt8]] = [[]]
    for scalar in text.unicodeScalars {
      let bytes = Array(String(scalar).utf8)
      if words[words.count - 1].count + bytes.count > 45 { words.append([]) }
      words[words.count - 1] += bytes
    }
    return words.map { "=?utf-8?B?\(String(decoding: $0.base64, as: UTF8.self))?=" }.joined(separator: "\r\n ")
  }

  /// Sets the options of a handle except the message.
  func apply(to easy: UnsafeMutableRawPointer) {
    curl_set_text(easy, CURLOPT_URL, server)
    curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps")
    curl_set_text(easy, CURLOPT_MAIL_FROM, from)
    guard let user, let password else {
      // As mail servers do among themselves (RFC 7435): who could forge the certificate could also hide STARTTLS, and local servers have
      // certificates that nobody signed.
      curl_set_long(easy, CURLOPT_USE_SSL, Int(CURLUSESSL_TRY.rawValue))
      if server.hasPrefix("smtp:") {
        for option in [CURLOPT_SSL_VERIFYPEER, CURLOPT_SSL_VERIFYHOST] { curl_set_long(easy, option, 0) }
      }
      return
    }
    curl_set_long(easy, CURLOPT_USE_SSL, Int(CURLUSESSL_ALL.rawValue))
    curl_set_text(easy, CURLOPT_USERNAME, user)
    curl_set_text(easy, CURLOPT_PASSWORD, password)
  }
}
