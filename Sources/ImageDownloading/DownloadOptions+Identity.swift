import ImagePrimitives

extension DownloadOptions: Hashable {
  /// What of the options changes the result; hooks count by their names.
  struct Identity: Hashable {
    var method: Method
    var headers: [Header]
    var accept: String
    var userAgent: String
    var headerFilter: HeaderFilter?
    var credentials: Credentials?
    var handlesCookies: Bool
    var allowsInvalidTLSCertificates: Bool
    var connection: Connection
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
    var isForOtherOrigin: Bool

    struct Header: Hashable {
      var name: String
      var value: String?
    }
  }

  var identity: Identity {
    Identity(
      method: method,
      headers: headers.map { Identity.Header(name: $0.name.lowercased(), value: $0.value) },
      accept: accept,
      userAgent: userAgent,
      headerFilter: headerFilter,
      credentials: credentials,
      handlesCookies: handlesCookies,
      allowsInvalidTLSCertificates: allowsInvalidTLSCertificates,
      connection: connection,
      redirects: redirects,
      acceptStatus: acceptStatus,
      acceptContentTypes: acceptContentTypes,
      maxBytes: maxBytes,
      streamAbove: streamAbove,
      chunkBytes: chunkBytes,
      respectsRobots: respectsRobots,
      checksRemoteCache: checksRemoteCache,
      requestModifier: requestModifier,
      responseModifier: responseModifier,
      prefixJudge: prefixJudge,
      decryptor: decryptor,
      isForOtherOrigin: isForOtherOrigin
    )
  }

  /// Whether both lead to the same result: time limits and retries do not count, hooks count by their names.
  public static func == (left: DownloadOptions, right: DownloadOptions) -> Bool {
    left === right || left.identityHash == right.identityHash && left.identity == right.identity
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(identityHash) }
}
