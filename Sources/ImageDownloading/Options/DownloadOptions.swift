public import Base

/// How images are downloaded: what is sent, how long a server may take, and which responses are accepted.
///
/// ```
/// let options = DownloadOptions {
///   $0.timeout = .seconds(20)
///   $0.retries = 1
/// }
/// ```
/// If a value can't be used, such as a header that ``isValidHeader(name:value:)`` rejects, a connection with an
/// ``Connection/invalidReason`` or a negative number, the `init` of a manager with these options throws, and so does a download or load
/// whose own options have it. Hooks equal only themselves.
public struct DownloadOptions: Sendable, Hashable {
  /// How much of the image is requested; all of it by default.
  package var method = Method.get
  /// Headers sent with each request, to the download's own scheme, host and port only: a redirect elsewhere drops them.
  ///
  /// They replace ``accept``, ``userAgent`` and the downloader's own headers of the same name. A `Range` is sent as it is, so 206 must
  /// be among ``acceptStatus``.
  public var headers: [HeaderField] = []
  /// The names of headers that are not sent to the download's own origin, whoever adds them: these options, the downloader or libcurl.
  public var removedHeaders: [String] = []
  /// The `Accept` header; nil (the default): the formats that the coders of a manager read, or all images for a download without one.
  public var accept: String?
  package var sentAccept: String {
    get { accept ?? "image/webp,image/*;q=0.8" }
    set { accept = newValue }
  }
  /// The `User-Agent` header.
  public var userAgent = "prewarm"
  /// The user name and password, or their source; none by default.
  public var credentials: Credentials?
  /// Whether cookies are kept and sent, at a download's own origin, from one jar in memory for all such downloads of a downloader
  /// (RFC 6265); false by default. See ``ImageDownloader/clearCookies()``.
  public var handlesCookies = false
  /// Whether images that are requested with credentials count as everyone's; false by default: a manager keeps them apart by a digest of the
  /// credentials, unless the response allows any request to use it (`public`, `s-maxage`, `must-revalidate`: RFC 9111, section 3.5).
  ///
  /// Credentials are those of the URL, ``credentials``, a client certificate, cookies, and headers such as `Authorization`, `Cookie` or
  /// `X-Api-Key`. An image that a ``requestModifier`` requests with credentials of its own isn't stored, since they are unknown before.
  public var sharesAcrossCredentials = false
  /// Whether invalid TLS certificates are accepted, on each hop; false by default. Anyone on the path can then read it.
  public var allowsInvalidTLSCertificates = false
  /// How connections are made; by default directly, with the HTTP version that TLS negotiates.
  public var connection = Connection()
  /// The limit for one attempt, redirects included; 60 s by default.
  public var timeout: Duration {
    get { limits.timeout }
    set { limits.timeout = newValue }
  }
  /// The limit for resolving the name, connecting and the TLS handshake together; 10 s by default.
  public var connectTimeout: Duration {
    get { limits.connectTimeout }
    set { limits.connectTimeout = newValue }
  }
  /// How long a connected transfer may receive nothing; 15 s by default, as SDWebImage's download timeout.
  public var stallTimeout: Duration {
    get { limits.stallTimeout }
    set { limits.stallTimeout = newValue }
  }
  /// How often a transient failure is retried; 2 by default. With 0 a download with ``Patience-swift.enum/short`` patience waits for nothing:
  /// neither for `Retry-After` nor for a host's pause.
  public var retries: Int {
    get { limits.retries }
    set { limits.retries = newValue }
  }
  /// The wait before a retry: a random time from zero to a limit (full jitter), by default 500 ms at first and at most 30 s.
  public var backoff: Backoff {
    get { limits.backoff }
    set { limits.backoff = newValue }
  }
  /// How a download treats a host that keeps failing or asks for a pause; ``Patience-swift.enum/short`` by default.
  public var patience: Patience {
    get { limits.patience }
    set { limits.patience = newValue }
  }
  /// How long a download may wait in total because hosts ask for it (`Retry-After`, RFC 9110, section 10.2.3); by default 2 s, or
  /// 2 minutes with ``Patience-swift.enum/long``. Such waits aren't retries. If a host asks for more than is left, the download fails at
  /// once with its response.
  public var retryAfterMaximum: Duration {
    get { limits.retryAfterMaximum ?? (isAwaited ? .seconds(2) : .seconds(120)) }
    set { limits.retryAfterMaximum = newValue }
  }
  /// How many redirects one attempt follows; 10 by default, 0 follows none.
  public var redirects = 10
  /// The statuses whose body is the image; 200 by default.
  public var acceptStatus: Set<Int> = [200]
  /// The accepted media types, such as `image/png` or `image/*`, ignoring case and parameters; a response of another type, or without
  /// one, fails as `content-type`. Nil (the default) accepts all.
  public var acceptContentTypes: Set<String>?
  /// The maximum size of a body in bytes, declared or received; a larger one fails as `too-large`. 64 MiB by default.
  public var maxBytes = 64 << 20
  /// Bodies with more bytes are passed on in chunks while they arrive, to a cache's disk, smaller ones whole; 256 KiB by default. Each
  /// running transfer may hold that much in memory, at most ``maxBytes``.
  public var streamAbove = 256 << 10
  /// The size of the chunks of a streamed body in bytes; 256 KiB by default, at least 1.
  package var chunkBytes = 256 << 10
  /// Whether each host's `robots.txt` is fetched first and obeyed (RFC 9309); false by default.
  public var respectsRobots = false
  /// Changes or rejects each request; none by default.
  public var requestModifier: RequestModifier?
  /// Changes or rejects each response; none by default.
  public var responseModifier: ResponseModifier?
  /// Decrypts bodies; none by default.
  public var decryptor: Decryptor?
  /// What the image is fetched for.
  package var purpose = Purpose()
  fileprivate var limits = Limits()

  /// Creates options with the defaults of a job file.
  public init() {}

  /// How much of an image is requested.
  package enum Method: Sendable, Hashable {
    /// All of it.
    case get
    /// The headers only: `HEAD` (RFC 9110, section 9.3.2). If a server responds with 405 or 501, ``probe`` is used instead in the same
    /// attempt, and for its other URLs as long as the downloader lives. If it fails otherwise, but for 429, a GET decides as for ``probe``.
    case head
    /// The first ``DownloadOptions/probeBytes`` bytes, by a range request (RFC 9110, section 14), and more if the header needs
    /// them: up to 1 MiB in 16 requests, and then the whole body. If a server ignores ranges, reading stops soon after that many bytes.
    ///
    /// If the server responds with an error except 429, with another range or an empty body, or breaks off, a GET without range decides in
    /// the same attempt, read as far as a probe; if it succeeds, the origin's other URLs are fetched that way as long as the downloader
    /// lives. With a ``Decryptor``, which needs whole bodies, it equals ``get``.
    case probe
  }

  /// How a download treats a host that keeps failing (``CircuitBreaker``) or asks for a pause by 429 or 503.
  public enum Patience: Sendable, Hashable {
    /// Someone waits for the image: it comes or fails within seconds, and the failure is the server's answer.
    ///
    /// The download waits only for what its host asked it for itself, or after a 429 to another download, and at most
    /// ``DownloadOptions/retryAfterMaximum``. While its host keeps failing it fails at once, unless it is the one that tries the host.
    case short
    /// Nobody waits, as for the downloads of an `ImagePrefetcher` or a job: hosts are spared. The download waits as long as any
    /// response of the host asked for, and while the host keeps failing.
    case long
  }

  /// Whether someone waits for it.
  var isAwaited: Bool { patience == .short }

  /// What callers within prewarm know of a download, besides the options of a job file.
  package struct Purpose: Sendable, Hashable {
    /// The statuses whose failure is permanent, even if it is usually temporary: it isn't retried.
    package var permanentStatuses: [ClosedRange<Int>] = []
    /// Whether an accepted response is followed by a second, equal request to read the status of caches on the way into
    /// ``DownloadResponse/remoteCache``. It is never conditional or retried, and reads at most 64 KiB of the body. Its failure is
    /// recorded there and doesn't fail the download. An ``ImageLoader`` gets no second request.
    package var checksRemoteCache = false
    /// Whether responses have ``DownloadResponse/delivery``.
    package var describesDelivery = false
    /// Stops a transfer by its first bytes.
    package var prefixJudge: PrefixJudge?
    /// Whether headers and secrets of the job are withheld, since a server named the URL: see ``forOtherOrigin``.
    var isForOtherOrigin = false
    /// Whether the body is a text, so that no image format marks its end.
    var isText = false
  }

  /// How long and how often a server may fail, which doesn't change the result: downloads that differ only in this share a transfer.
  fileprivate struct Limits: Sendable, Hashable {
    var timeout = Duration.seconds(60)
    var connectTimeout = Duration.seconds(10)
    var stallTimeout = Duration.seconds(15)
    var retries = 2
    var backoff = Backoff(initial: .milliseconds(500), maximum: .seconds(30))
    var patience = Patience.short
    /// Nil: the default for the patience.
    var retryAfterMaximum: Duration?
  }

  /// The first range of a probe: 64 KiB.
  package static let probeBytes = 64 << 10
}

extension DownloadOptions {
  /// What is wrong with the options, without values of headers, which may be secret; nil if they can be used.
  package var invalidReason: String? {
    for header in headers + [HeaderField("Accept", sentAccept), HeaderField("User-Agent", userAgent)] {
      if !Self.isValidHeader(name: header.name, value: header.value) { return "\(header.name.quotable): not a valid header" }
    }
    for name in removedHeaders {
      if !Self.isValidHeader(name: name, value: "") { return "\(name.quotable): not the name of a header" }
    }
    let numbers = [("retries", retries), ("redirects", redirects), ("maxBytes", maxBytes), ("streamAbove", streamAbove)]
    if let (name, number) = numbers.first(where: { $1 < 0 }) { return "\(name): \(number) is below 0" }
    let times = [
      ("timeout", timeout), ("connectTimeout", connectTimeout), ("stallTimeout", stallTimeout),
      ("retryAfterMaximum", retryAfterMaximum), ("backoff.initial", backoff.initial), ("backoff.maximum", backoff.maximum),
    ]
    if let (name, time) = times.first(where: { $1 < .zero }) { return "\(name): \(time.text) is below 0" }
    return connection.invalidReason
  }

  /// Creates the default options with the changes of `change`.
  public init(_ change: (inout DownloadOptions) -> Void) {
    self.init()
    change(&self)
  }

  /// Returns a copy with the changes of `change`.
  public func with(_ change: (inout DownloadOptions) -> Void) -> DownloadOptions {
    var options = self
    change(&options)
    return options
  }

  /// The same options for a URL of another scheme, host or port, without anything of the job's own, as after a redirect there: no
  /// headers, not even the downloader's own, no credentials, cookies, client certificate or hooks.
  package var forOtherOrigin: DownloadOptions { with { $0.purpose.isForOtherOrigin = true } }

  /// The same connection, limits and secrets for a text: a GET with status 200, whatever its first bytes, large ones in chunks.
  package func fetchingText(accept: String, maxBytes: Int) -> DownloadOptions {
    fetchingText(accept, statuses: [200], maxBytes: maxBytes, streamAbove: 128 << 10, chunkBytes: 256 << 10)
  }

  /// The same options for a `robots.txt`, without anything of the job's own unless `isOwnOrigin`.
  func forRobots(isOwnOrigin: Bool) -> DownloadOptions {
    // Only the first chunk of a larger file is read.
    let bytes = RobotsRules.maximumBytes
    return fetchingText(
      "text/plain, */*;q=0.5",
      statuses: Set(200...299),
      maxBytes: .max,
      streamAbove: bytes,
      chunkBytes: bytes
    ).with {
      if !isOwnOrigin { $0.purpose.isForOtherOrigin = true }
      $0.respectsRobots = false
      // RFC 9309, section 2.3.1.2, requires at least 5.
      $0.redirects = 5
    }
  }

  private func fetchingText(_ accept: String, statuses: Set<Int>, maxBytes: Int, streamAbove: Int, chunkBytes: Int)
    -> DownloadOptions
  {
    with {
      $0.method = .get
      $0.headers.removeAll { $0.name.equalsIgnoringCase("Accept") || $0.name.equalsIgnoringCase("Range") }
      $0.accept = accept
      $0.acceptStatus = statuses
      $0.acceptContentTypes = nil
      ($0.maxBytes, $0.streamAbove, $0.chunkBytes) = (maxBytes, streamAbove, chunkBytes)
      $0.responseModifier = nil
      $0.decryptor = nil
      $0.purpose.isText = true
      $0.purpose.permanentStatuses = []
      $0.purpose.checksRemoteCache = false
      $0.purpose.prefixJudge = nil
    }
  }
}

/// Checked options with a precomputed identity: create them once for all downloads that share them, since the transfer thread keeps a
/// libcurl request for each and finds it by object identity.
///
/// Two are equal if they lead to the same result: time limits, retries and the case of header names don't count; hooks equal only
/// themselves. Downloads of one URL with equal options share a transfer.
package final class PreparedOptions: Sendable, Hashable {
  package let options: DownloadOptions
  /// The options that determine the result; the others have their defaults.
  private let sharing: DownloadOptions
  private let hash: Int
  /// A copy of the options' value, since each look-up needs it and copying all options is slow.
  let credentials: Credentials?

  /// Prepares `options`; traps on a header that ``DownloadOptions/isValidHeader(name:value:)`` rejects and on a connection with an
  /// ``DownloadOptions/Connection/invalidReason``.
  package init(_ options: DownloadOptions) {
    let invalid = options.invalidReason
    trap(unless: invalid == nil, invalid ?? "")
    self.options = options.with {
      $0.chunkBytes = max(1, $0.chunkBytes)
      $0.acceptContentTypes = $0.acceptContentTypes.map { Set($0.map { $0.lowercased() }) }
    }
    credentials = options.purpose.isForOtherOrigin ? nil : options.credentials
    sharing = self.options.with {
      $0.headers = $0.headers.map { HeaderField($0.name.lowercased(), $0.value) }
      $0.removedHeaders = $0.removedHeaders.map { $0.lowercased() }
      $0.limits = DownloadOptions.Limits()
    }
    hash = sharing.hashValue
  }

  package static func == (left: PreparedOptions, right: PreparedOptions) -> Bool {
    left === right || left.hash == right.hash && left.sharing == right.sharing
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension DownloadOptions {
  /// The headers of a request to the download's own origin, before hooks change them.
  ///
  /// The options' headers replace those of `defaults`, both replace `Accept` and `User-Agent`, and removed ones are left out. Other origins get only the
  /// latter two. The headers of `range` replace all.
  func requestHeaders(defaults: [HeaderField], isOwnOrigin: Bool = true, range: RangeRequest? = nil) -> [HeaderField] {
    var fields = [HeaderField("Accept", sentAccept), HeaderField("User-Agent", userAgent)]
    if isOwnOrigin, !purpose.isForOtherOrigin {
      for own in [defaults, headers] {
        fields.removeAll { field in own.contains { $0.name.equalsIgnoringCase(field.name) } }
        fields += own
      }
      fields.removeAll { field in removedHeaders.contains { $0.equalsIgnoringCase(field.name) } }
    }
    return range?.added(to: fields) ?? fields
  }

  /// The names of headers that aren't sent, not even by libcurl itself.
  func removedHeaders(isOwnOrigin: Bool) -> [String] { isOwnOrigin && !purpose.isForOtherOrigin ? removedHeaders : [] }

  /// The value of that header, case ignored, in a request to the download's own origin; nil if it isn't sent.
  ///
  /// A response's `Vary` is compared with it. It excludes values known only at the time of the request: changes by hooks and
  /// cookies of the jar, so with ``handlesCookies`` the value of `Cookie` is unknown. It also excludes credentials of the URL.
  ///
  /// - Parameters:
  ///   - name: the header's name.
  ///   - defaults: the downloader's own headers, ``ImageDownloader/Configuration/headers``.
  ///   - credential: the result of ``credential(for:)`` for the request's URL.
  package func requestValue(ofHeader name: String, defaults: [HeaderField] = [], credential: Credential? = nil) -> String? {
    if let value = requestHeaders(defaults: defaults).value(of: name) { return value }
    if !purpose.isForOtherOrigin, removedHeaders.contains(where: { $0.equalsIgnoringCase(name) }) { return nil }
    if name.equalsIgnoringCase("Authorization") { return credential?.basicAuthorization }
    return name.equalsIgnoringCase("Accept-Encoding") ? Self.acceptEncoding : nil
  }

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
