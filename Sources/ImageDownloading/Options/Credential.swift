import ImagePrimitives
import ImageURLs

/// A user name and a password, sent as Basic credentials (RFC 7617).
///
/// It describes itself without its parts, so that it may stand in a log by mistake.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The user name; Basic credentials cannot carry one with a colon.
  public var user: String
  /// The password.
  public var password: String

  /// A user name with its password.
  public init(user: String, password: String) {
    self.user = user
    self.password = password
  }

  /// `***`.
  public var description: String { "***" }
  /// `***`.
  public var debugDescription: String { "***" }
  /// Nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Where credentials come from. Those in a download's URL win over these, and all go to the download's own origin only.
public struct Credentials: Sendable, Hashable {
  /// Tells one source from another; nil for a fixed user and password.
  let name: String?
  package let fixed: Credential?
  let find: @Sendable (_ host: String, _ port: Int, _ isSecure: Bool) -> Credential?

  /// The same for all hosts.
  public static func fixed(_ credential: Credential) -> Credentials {
    Credentials(name: nil, fixed: credential, find: { _, _, _ in credential })
  }

  /// By host: `find` gets its name, its port and whether TLS protects the way there, and returns nil where none are to be sent.
  ///
  /// It is called on the transfer thread for each request, and wherever an image is looked up, so it must be quick. Two sources of
  /// one name count as equal.
  public static func perHost(
    name: String,
    _ find: @escaping @Sendable (_ host: String, _ port: Int, _ isSecure: Bool) -> Credential?
  ) -> Credentials {
    Credentials(name: name, fixed: nil, find: find)
  }

  /// Whether both give the same credentials: by value where fixed, else by name.
  public static func == (left: Credentials, right: Credentials) -> Bool { left.name == right.name && left.fixed == right.fixed }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(fixed)
  }
}

extension Credentials {
  func credential(for url: UnsafeRawBufferPointer) -> Credential? {
    guard let parts = URLNormalizer.parts(ofNormalForm: url), parts.userInfo.isEmpty else { return nil }
    return fixed ?? URLOrigin(Array(url), parts).credential(from: self)
  }
}

extension DownloadOptions {
  /// Returns what ``credentials`` give for a request to `url`, a normalised one; nil if they give none, for a URL that has its own, and
  /// for one that is neither http nor https.
  ///
  /// Images of different credentials are different images: a cache tells them apart by this. An `Authorization` header of the options or
  /// of the downloader is sent in its place.
  public func credential(for url: UnsafeRawBufferPointer) -> Credential? {
    isForOtherOrigin ? nil : credentials?.credential(for: url)
  }
}

extension PreparedOptions {
  /// Returns the same as ``DownloadOptions/credential(for:)``.
  package func credential(for url: UnsafeRawBufferPointer) -> Credential? { credentials?.credential(for: url) }
}

extension Credential {
  /// The value of the `Authorization` header that says it (RFC 7617, section 2).
  var basicAuthorization: String { "Basic " + String(decoding: Array("\(user):\(password)".utf8).base64, as: UTF8.self) }
}
