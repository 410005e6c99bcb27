public import ImagePrimitives

/// How images are downloaded: what is sent, how long a server may take, and which responses are accepted.
///
/// ```
/// let options = DownloadOptions {
///   $0.timeout = .seconds(20)
///   $0.retries = 1
/// }
/// ```
/// Options are checked where they are prepared for use: a header that ``isValidHeader(name:value:)`` rejects, and a connection with an
/// ``Connection/invalidReason``, are programmer errors and trap. Hooks and credentials compare by their names.
public struct DownloadOptions: Sendable, Hashable {
  /// How much of the image is requested; all of it by default.
  public var method = Method.get
  /// Headers sent with each request, to the download's own scheme, host and port only: a redirect elsewhere drops them.
  ///
  /// They replace ``accept``, ``userAgent`` and the downloader's own headers of the same name. A `Range` is sent as it is, so 206 must
  /// be among ``acceptStatus``; a probe's own `Range`, `If-Range` and `Accept-Encoding` replace all others, those of hooks included.
  public var headers: [Header] = []
  /// The `Accept` header; images by default.
  public var accept = "image/webp,image/*;q=0.8"
  /// The `User-Agent` header.
  public var userAgent = "prewarm"
  /// Chooses the headers of each request by its URL; none by default.
  public var headerFilter: HeaderFilter?
  /// User name and password, or where they come from; none by default.
  public var credentials: Credentials?
  /// Whether cookies are kept and sent, at a download's own origin, from one jar in memory for all such downloads of a downloader
  /// (RFC 6265); false by default. See ``ImageDownloader/clearCookies()``.
  public var handlesCookies = false
  /// Whether invalid TLS certificates are accepted, on each hop; false by default. Anyone on the network path can then read and change
  /// the traffic.
  public var allowsInvalidTLSCertificates = false
  /// How servers are reached; directly, by the HTTP version that TLS agrees on, by default.
  public var connection = Connection()
  /// The limit for one attempt, redirects included; 60 s by default.
  public var timeout = Duration.seconds(60)
  /// The limit for resolving the name, connecting and the TLS handshake together; 10 s by default.
  public var connectTimeout = Duration.seconds(10)
  /// How long a connected transfer may go without a byte; 15 s by default, as SDWebImage's download timeout.
  public var stallTimeout = Duration.seconds(15)
  /// How often a transient failure is retried; 2 by default.
  public var retries = 2
  /// How long to wait before a retry: a random time from zero to its limit (full jitter), which is 500 ms before the first retry by
  /// default, and 30 s at most.
  public var backoff = Backoff(initial: .milliseconds(500), maximum: .seconds(30))
  /// How long a download waits in all because hosts ask for it (`Retry-After`, RFC 9110, section 10.2.3); 2 minutes by default. Such a
  /// wait isn't a retry. A host that asks for more than is left fails the download at once.
  public var retryAfterMaximum = Duration.seconds(120)
  /// How many redirects one attempt follows; 10 by default, 0 follows none.
  public var redirects = 10
  /// The statuses whose body is the image; 200 by default. In response to a probe's own range 206 counts as 200, and 416 as an empty
  /// body if it says so.
  public var acceptStatus: Set<Int> = [200]
  /// The media types that are accepted, such as `image/png` or `image/*`, whatever their case and parameters; a response of another
  /// type, or without one, fails as `content-type`. Nil by default: all are.
  public var acceptContentTypes: Set<String>?
  /// The largest body in bytes; a larger one fails as `too-large`. 64 MiB by default. The length that a server declares counts, even if
  /// less is requested.
  public var maxBytes = 64 << 20
  /// Bodies with more bytes are handed over in chunks while they arrive, and smaller ones whole; 256 KiB by default. Each running
  /// transfer may hold that much in memory, so a large value is bounded by ``maxBytes`` alone.
  public var streamAbove = 256 << 10
  /// The size of the chunks of a streamed body in bytes; 256 KiB by default, at least 1.
  public var chunkBytes = 256 << 10
  /// Whether each host's `robots.txt` is fetched first, and kept (RFC 9309); false by default.
  public var respectsRobots = false
  /// Whether an accepted response is followed by a second, equal request that shows what caches on the way have of the image:
  /// ``Response/remoteCache``; false by default. It is never conditional or retried, and reads at most 64 KiB of the body. Its
  /// failure is recorded there and fails nothing. An ``ImageLoader`` gets no second request.
  public var checksRemoteCache = false
  /// Changes or rejects each request; none by default.
  public var requestModifier: RequestModifier?
  /// Changes or rejects each response; none by default.
  public var responseModifier: ResponseModifier?
  /// Stops a transfer by its first bytes; none by default.
  public var prefixJudge: PrefixJudge?
  /// Turns the bytes that came into those of the image; none by default.
  public var decryptor: Decryptor?
  /// Whether nothing of the job's own is sent, since a server named the URL: see ``forOtherOrigin``.
  var isForOtherOrigin = false
  /// Whether a text is fetched, whose end no image's marks.
  var isText = false

  /// The defaults of a job file.
  public init() {}

  /// How much of an image is requested.
  public enum Method: Sendable, Hashable {
    /// All of it.
    case get
    /// The headers alone: `HEAD` (RFC 9110, section 9.3.2). A server that responds with 405 or 501 is asked by ``probe`` instead, in the
    /// same attempt, and so are its other URLs for as long as the downloader lives.
    case head
    /// Its first ``DownloadOptions/probeBytes`` bytes, by a range (RFC 9110, section 14), and more if a ``PrefixJudge`` needs it, up to
    /// 1 MiB and in 16 requests. If a server ignores ranges, reading stops soon after that many bytes. With a ``Decryptor``, which can
    /// only read whole bodies, it is a ``get``.
    case probe
  }

  /// The first range of a probe: 64 KiB.
  public static let probeBytes = 64 << 10

  /// A header to send, or to leave out.
  public struct Header: Sendable, Hashable {
    public var name: String
    /// Nil removes the header, even one that libcurl would add.
    public var value: String?

    public init(_ name: String, _ value: String?) {
      self.name = name
      self.value = value
    }
  }
}

extension DownloadOptions {
  /// The defaults, but for the properties that `change` sets.
  public init(_ change: (inout DownloadOptions) -> Void) {
    self.init()
    change(&self)
  }

  /// A copy with the changes that `change` makes.
  public func with(_ change: (inout DownloadOptions) -> Void) -> DownloadOptions {
    var options = self
    change(&options)
    return options
  }

  /// The same options for a URL of another scheme, host and port, which gets nothing of the job's own, as after a redirect there: no
  /// headers, not even the downloader's own, no credentials, cookies or client certificate, and no hook sees its requests.
  public var forOtherOrigin: DownloadOptions { with { $0.isForOtherOrigin = true } }

  /// The same connection, patience and secrets for a text instead of an image: all of it by GET with status 200, whatever it begins
  /// with, in chunks if it is large.
  public func fetchingText(accept: String, maxBytes: Int) -> DownloadOptions {
    with {
      $0.fetchText(accept: accept)
      $0.acceptStatus = [200]
      $0.maxBytes = maxBytes
      $0.streamAbove = 128 << 10
      $0.chunkBytes = 256 << 10
    }
  }

  /// The same for a `robots.txt`, without anything of the job's own unless it is of their own scheme, host and port.
  func forRobots(isOwnOrigin: Bool) -> DownloadOptions {
    with {
      if !isOwnOrigin { $0.isForOtherOrigin = true }
      $0.fetchText(accept: "text/plain, */*;q=0.5")
      $0.respectsRobots = false
      // At least 5 are to be followed (RFC 9309, section 2.3.1.2).
      $0.redirects = 5
      $0.acceptStatus = Set(200...299)
      // Of a larger file the first chunk is read.
      $0.maxBytes = .max
      $0.streamAbove = RobotsRules.maximumBytes
      $0.chunkBytes = RobotsRules.maximumBytes
    }
  }

  /// Requests a whole text, whatever its type, in place of an image.
  private mutating func fetchText(accept: String) {
    method = .get
    isText = true
    headers.removeAll { $0.name.equalsIgnoringCase("Accept") || $0.name.equalsIgnoringCase("Range") }
    self.accept = accept
    acceptContentTypes = nil
    checksRemoteCache = false
    responseModifier = nil
    prefixJudge = nil
    decryptor = nil
  }
}

/// Options that were checked, with what makes downloads with them equal: made once for all downloads that share them, since the transfer
/// thread keeps a request of libcurl's ready for each and recognises it by identity.
///
/// Two are equal if they lead to the same result. Time limits and retries don't count, hooks and credentials count by their names, and
/// the case of header names doesn't matter. Downloads of one URL with equal options share a transfer.
public final class PreparedOptions: Sendable, Hashable {
  public let options: DownloadOptions
  /// The options that count, the others at their defaults.
  private let sharing: DownloadOptions
  private let hash: Int
  /// Apart from the options, since each look-up asks for them and a copy of all options costs.
  let credentials: Credentials?

  /// Prepares `options`; a header that ``DownloadOptions/isValidHeader(name:value:)`` rejects, and a connection with an
  /// ``DownloadOptions/Connection/invalidReason``, trap.
  public init(_ options: DownloadOptions) {
    for header in options.headers + [.init("Accept", options.accept), .init("User-Agent", options.userAgent)] {
      let isValid = DownloadOptions.isValidHeader(name: header.name, value: header.value ?? "")
      trap(unless: isValid, "\(header.name): not a valid header")
    }
    let invalid = options.connection.invalidReason
    trap(unless: invalid == nil, invalid ?? "")
    self.options = options.with {
      $0.chunkBytes = max(1, $0.chunkBytes)
      $0.acceptContentTypes = $0.acceptContentTypes.map { Set($0.map { $0.lowercased() }) }
    }
    credentials = options.isForOtherOrigin ? nil : options.credentials
    let defaults = DownloadOptions()
    sharing = self.options.with {
      $0.headers = $0.headers.map { DownloadOptions.Header($0.name.lowercased(), $0.value) }
      $0.timeout = defaults.timeout
      $0.connectTimeout = defaults.connectTimeout
      $0.stallTimeout = defaults.stallTimeout
      $0.retries = defaults.retries
      $0.backoff = defaults.backoff
      $0.retryAfterMaximum = defaults.retryAfterMaximum
    }
    hash = sharing.hashValue
  }

  public static func == (left: PreparedOptions, right: PreparedOptions) -> Bool {
    left === right || left.hash == right.hash && left.sharing == right.sharing
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
