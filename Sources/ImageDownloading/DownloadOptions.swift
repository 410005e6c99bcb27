public import ImagePrimitives

/// How the downloads of one job are made: what is sent, how long is waited, what is accepted.
///
/// One object serves all downloads of a job. It never changes, so that the transfer thread prepares a handle once for it
/// and recognises it by identity. Two objects count as equal where they lead to the same result, whatever their time limits and
/// retries: downloads of one URL with equal options share a transfer.
public final class DownloadOptions: Sendable {
  /// How much of the image is asked for; all of it by default.
  public var method: Method { values.method }
  /// Names and values sent with each request, to the download's own scheme, host and port only: a redirect elsewhere drops them.
  /// They replace ``accept``, ``userAgent`` and the downloader's own headers where they name the same header; a value of nil
  /// removes it. A `Range` of theirs is sent as it is, so that a 206 must be among ``acceptStatus``; but for a probe, whose own
  /// `Range`, `If-Range` and `Accept-Encoding` replace all others, those of hooks too.
  public var headers: [(name: String, value: String?)] { values.headers }
  /// The `Accept` header; images by default.
  public var accept: String { values.accept }
  /// The `User-Agent` header.
  public var userAgent: String { values.userAgent }
  /// Chooses the headers of each request by its URL; none by default.
  public var headerFilter: HeaderFilter? { values.headerFilter }
  /// User name and password, or where they come from; none by default.
  public var credentials: Credentials? { values.credentials }
  /// Whether cookies are kept and sent, at a download's own origin, from one jar in memory for all such downloads of a downloader
  /// (RFC 6265); false by default. See ``ImageDownloader/clearCookies()``.
  public var handlesCookies: Bool { values.handlesCookies }
  /// Whether TLS certificates are taken that nobody vouches for, on each hop; false by default. Whoever can reach the network
  /// between then can read and change all that passes.
  public var allowsInvalidTLSCertificates: Bool { values.allowsInvalidTLSCertificates }
  /// How its servers are reached; directly, by what HTTP and TLS agree on, by default.
  public var connection: Connection { values.connection }
  /// What one attempt may take, redirects included; 60 s by default.
  public var timeout: Duration { values.timeout }
  /// What resolving the name, connecting and the TLS handshake may take together; 10 s by default.
  public var connectTimeout: Duration { values.connectTimeout }
  /// How long a connected transfer may go without a byte; 15 s by default, as SDWebImage's download timeout.
  public var stallTimeout: Duration { values.stallTimeout }
  /// How often a transient failure is tried again; 2 by default.
  public var retries: Int { values.retries }
  /// How long to wait before a retry: drawn evenly from zero to its limit (full jitter), which is 500 ms before the first by
  /// default, and 30 s at most.
  public var backoff: Backoff { values.backoff }
  /// How long it may wait in all because hosts ask for that (`Retry-After`, RFC 9110, section 10.2.3); 2 minutes by default. Such a wait
  /// is no retry. A host that asks for more than is left fails it at once.
  public var retryAfterMaximum: Duration { values.retryAfterMaximum }
  /// How many redirects one attempt follows; 10 by default, 0 follows none.
  public var redirects: Int { values.redirects }
  /// The statuses whose body is the image; 200 by default. To a probe's own range 206 counts as 200, and 416 as an empty body
  /// where it says so.
  public var acceptStatus: Set<Int> { values.acceptStatus }
  /// The media types that are taken, such as `image/png` or `image/*`, whatever their case and parameters; an answer of another
  /// or of none fails as `content-type`. Nil by default: all are.
  public var acceptContentTypes: Set<String>? { values.acceptContentTypes }
  /// Bodies with more bytes fail as `too-large`; 64 MiB by default. The length that a server tells counts, also where less is
  /// asked for.
  public var maxBytes: Int { values.maxBytes }
  /// Bodies with more bytes are handed over in chunks while they arrive, and smaller ones whole; 256 KiB by default. Each running
  /// transfer may hold that much in memory, so that a large value is bounded by ``maxBytes`` alone.
  public var streamAbove: Int { values.streamAbove }
  /// Bodies that are streamed leave in chunks of this size; 256 KiB by default, at least 1.
  public var chunkBytes: Int { values.chunkBytes }
  /// Whether each host's `robots.txt` is asked first, and kept (RFC 9309); false by default.
  public var respectsRobots: Bool { values.respectsRobots }
  /// Whether an accepted answer is followed by a second request, the same again, that tells what caches on the way have of the image:
  /// ``DownloadedImage/remoteCache``; false by default. It is never conditional, nor tried again; its body is not read beyond 64 KiB. That it
  /// fails is told there, and fails nothing. What an ``ImageLoader`` brings is not asked for again.
  public var checksRemoteCache: Bool { values.checksRemoteCache }
  /// Changes or refuses each request; none by default.
  public var requestModifier: RequestModifier? { values.requestModifier }
  /// Changes or refuses each answer; none by default.
  public var responseModifier: ResponseModifier? { values.responseModifier }
  /// Stops a transfer by its first bytes; none by default.
  public var prefixJudge: PrefixJudge? { values.prefixJudge }
  /// Turns the bytes that came into those of the image; none by default.
  public var decryptor: Decryptor? { values.decryptor }

  /// Whether they are for a URL that gets nothing of the job's own: see ``forOtherOrigin``.
  var isForOtherOrigin: Bool { values.isForOtherOrigin }

  private let values: Values
  /// A hash of most of what `==` compares, made once.
  let identityHash: Int

  /// Options with the defaults of a job file.
  ///
  /// A header that ``isValidHeader(name:value:)`` refuses is a programmer's error and traps, and so is a connection with a
  /// ``Connection/problem``: who reads them from a file checks them there.
  public convenience init(
    method: Method = .get,
    headers: [(name: String, value: String?)] = [],
    accept: String = "image/webp,image/*;q=0.8",
    userAgent: String = "prewarm",
    headerFilter: HeaderFilter? = nil,
    credentials: Credentials? = nil,
    handlesCookies: Bool = false,
    allowsInvalidTLSCertificates: Bool = false,
    connection: Connection = Connection(),
    timeout: Duration = .seconds(60),
    connectTimeout: Duration = .seconds(10),
    stallTimeout: Duration = .seconds(15),
    retries: Int = 2,
    backoff: Backoff = Backoff(initial: .milliseconds(500), maximum: .seconds(30)),
    retryAfterMaximum: Duration = .seconds(120),
    redirects: Int = 10,
    acceptStatus: Set<Int> = [200],
    acceptContentTypes: Set<String>? = nil,
    maxBytes: Int = 64 << 20,
    streamAbove: Int = 256 << 10,
    chunkBytes: Int = 256 << 10,
    respectsRobots: Bool = false,
    checksRemoteCache: Bool = false,
    requestModifier: RequestModifier? = nil,
    responseModifier: ResponseModifier? = nil,
    prefixJudge: PrefixJudge? = nil,
    decryptor: Decryptor? = nil
  ) {
    for (name, value) in headers + [("Accept", accept), ("User-Agent", userAgent)] {
      trap(unless: Self.isValidHeader(name: name, value: value ?? ""), "\(name): not a valid header")
    }
    let problem = connection.problem
    trap(unless: problem == nil, problem ?? "")
    self.init(
      Values(
        method: method,
        headers: headers,
        accept: accept,
        userAgent: userAgent,
        headerFilter: headerFilter,
        credentials: credentials,
        handlesCookies: handlesCookies,
        allowsInvalidTLSCertificates: allowsInvalidTLSCertificates,
        connection: connection,
        timeout: timeout,
        connectTimeout: connectTimeout,
        stallTimeout: stallTimeout,
        retries: retries,
        backoff: backoff,
        retryAfterMaximum: retryAfterMaximum,
        redirects: redirects,
        acceptStatus: acceptStatus,
        acceptContentTypes: acceptContentTypes.map { Set($0.map { $0.lowercased() }) },
        maxBytes: maxBytes,
        streamAbove: streamAbove,
        chunkBytes: max(1, chunkBytes),
        respectsRobots: respectsRobots,
        checksRemoteCache: checksRemoteCache,
        requestModifier: requestModifier,
        responseModifier: responseModifier,
        prefixJudge: prefixJudge,
        decryptor: decryptor
      )
    )
  }

  private init(_ values: Values) {
    self.values = values
    var hasher = Hasher()
    hasher.combine(values.method)
    for (name, value) in values.headers {
      hasher.combine(name.lowercased())
      hasher.combine(value)
    }
    for text in [values.accept, values.userAgent] { hasher.combine(text) }
    for number in [values.maxBytes, values.streamAbove, values.chunkBytes, values.redirects] { hasher.combine(number) }
    identityHash = hasher.finalize()
  }

  /// The same options but for what `change` changes, to values that are valid.
  func with(_ change: (inout Values) -> Void) -> DownloadOptions {
    var values = values
    change(&values)
    return DownloadOptions(values)
  }
}
