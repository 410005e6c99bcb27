import Base

/// A user name and a password, sent as Basic credentials (RFC 7617).
///
/// Its description hides both, so that they don't leak into logs.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The user name; Basic credentials can't have one with a colon.
  public var user: String
  /// The password.
  public var password: String

  /// Creates a credential from a user name and its password.
  public init(user: String, password: String) {
    self.user = user
    self.password = password
  }

  /// `***`.
  public var description: String { "***" }
  /// `***`.
  public var debugDescription: String { "***" }
  /// Empty.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The source of credentials. Those in a download's URL override these, and all are sent to the download's own origin only.
///
/// Fixed ones are equal if their values are. A source per host equals only itself and its copies: create it once, since downloads share a
/// transfer only if their options are equal.
public struct Credentials: Sendable, Hashable {
  package let fixed: Credential?
  private let source: Hook<@Sendable (_ host: String, _ port: Int, _ isSecure: Bool) -> Credential?>?

  /// The same credential for all hosts.
  public static func fixed(_ credential: Credential) -> Credentials { Credentials(fixed: credential, source: nil) }

  /// A credential per host: `find` gets its name, its port and whether the connection uses TLS, and returns nil to send none.
  ///
  /// It must be quick: it is called for each request and each look-up of an image.
  public static func perHost(
    _ find: @escaping @Sendable (_ host: String, _ port: Int, _ isSecure: Bool) -> Credential?
  ) -> Credentials {
    Credentials(fixed: nil, source: Hook(find))
  }
}

extension Credentials {
  /// The credential for a normalised URL; nil if there is none, or if the URL has its own.
  func credential(for url: UnsafeRawBufferPointer) -> Credential? {
    guard let parts = URLNormalizer.parts(ofNormalForm: url), parts.userInfo.isEmpty else { return nil }
    if let fixed { return fixed }
    let origin = URLOrigin(Array(url), parts)
    return source?.call(origin.name, origin.port, origin.isSecure)
  }
}

extension DownloadOptions {
  /// Returns the credential of ``credentials`` for a normalised URL; nil if there is none, or if the URL has its own.
  ///
  /// A cache distinguishes images by their credential. An `Authorization` header of options or downloader replaces it.
  package func credential(for url: UnsafeRawBufferPointer) -> Credential? {
    purpose.isForOtherOrigin ? nil : credentials?.credential(for: url)
  }
}

extension PreparedOptions {
  /// Returns the same as ``DownloadOptions/credential(for:)``.
  package func credential(for url: UnsafeRawBufferPointer) -> Credential? { credentials?.credential(for: url) }
}

extension DownloadOptions {
  /// The credentials that all requests with these options send, whatever their URL, as secret lines of text; empty if there are none.
  ///
  /// - Parameter defaults: the downloader's own headers, ``ImageDownloader/Configuration/headers``.
  package func senderLines(defaults: [HeaderField]) -> [String] {
    guard !purpose.isForOtherOrigin else { return [] }
    var lines = requestHeaders(defaults: defaults).filter(\.isCredential).map { "\($0.name.lowercased()): \($0.value)" }
    // Neither the cookies of the jar nor the key of a certificate are known here; both stay with the downloader or the file.
    if handlesCookies { lines.append("cookies of the jar") }
    if let file = connection.tls.clientCertificate { lines.append("client certificate \(file)") }
    return lines.sorted()
  }

  /// The line for the credential of ``credentials`` in ``senderLines(defaults:)``; nil if it isn't sent.
  package func senderLine(_ credential: Credential, defaults: [HeaderField]) -> String? {
    let value = requestValue(ofHeader: "Authorization", defaults: defaults, credential: credential)
    return value == credential.basicAuthorization ? "authorization: \(credential.basicAuthorization)" : nil
  }
}

extension HeaderField {
  /// Whether its name says that it shows who asks, as `Authorization`, `Cookie` and the headers of services, such as `X-Api-Key`, do.
  package var isCredential: Bool {
    let name = name.lowercased()
    // Those of a proxy are none of the server's.
    if name.hasPrefix("proxy-") { return false }
    return ["auth", "cookie", "credential", "jwt", "key", "passw", "secret", "session", "token"].contains { name.contains($0) }
  }
}

extension Credential {
  /// The value of the `Authorization` header for it (RFC 7617, section 2).
  var basicAuthorization: String { "Basic " + String(decoding: Array("\(user):\(password)".utf8).base64, as: UTF8.self) }
}
