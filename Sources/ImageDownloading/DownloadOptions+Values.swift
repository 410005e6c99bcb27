import ImagePrimitives

extension DownloadOptions {
  /// All options, by which copies are made.
  struct Values {
    var method: Method
    var headers: [(name: String, value: String?)]
    var accept: String
    var userAgent: String
    var headerFilter: HeaderFilter?
    var credentials: Credentials?
    var handlesCookies: Bool
    var allowsInvalidTLSCertificates: Bool
    var connection: Connection
    var timeout: Duration
    var connectTimeout: Duration
    var stallTimeout: Duration
    var retries: Int
    var backoff: Backoff
    var retryAfterMaximum: Duration
    var redirects: Int
    var acceptStatus: Set<Int>
    var acceptContentTypes: Set<String>?
    var maxBytes: Int
    var streamAbove: Int
    var chunkBytes: Int
    var respectsRobots: Bool
    var checksRemoteCache: Bool
    var requestModifier: RequestModifier?
    var responseModifier: ResponseModifier?
    var prefixJudge: PrefixJudge?
    var decryptor: Decryptor?
    /// Whether nothing of the job's own is sent, since a server has named the URL.
    var isForOtherOrigin = false
  }
}
