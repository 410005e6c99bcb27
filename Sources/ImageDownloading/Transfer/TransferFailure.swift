import CCurl
import Glibc
import ImagePrimitives

extension Transfer {
  /// Which time limit it has broken by `now`; nil where none.
  func brokenTimeLimit(_ now: MonotonicInstant) -> Failure? {
    if now >= deadline { return timedOut(after: options.timeout) }
    guard phase == .connected else {
      guard now >= connectLimit else { return nil }
      return .transient(.connect, "no connection to \(origin.address) was to be had within \((options.connectTimeout * 2).text)")
    }
    guard now >= lastProgress.advanced(by: options.stallTimeout) else { return nil }
    return .transient(.stalled, "no byte came for \(options.stallTimeout.text) after \(bodyBytes) bytes of the body")
  }

  /// When it may break a time limit next.
  var nextTimeLimit: MonotonicInstant {
    phase == .connected ? min(deadline, lastProgress.advanced(by: options.stallTimeout)) : min(deadline, connectLimit)
  }

  /// When it has to have a connection. libcurl has the limit itself, but not for one that waits for another's connection, which has as
  /// long; where that is lost, libcurl 7.88 at times forgets those that wait.
  private var connectLimit: MonotonicInstant { started.advanced(by: options.connectTimeout * 2) }

  /// No time limit can be broken before this, whatever the connection does.
  var earliestTimeLimit: MonotonicInstant { min(deadline, connectLimit, started.advanced(by: options.stallTimeout)) }

  func failure(_ code: CURLcode) -> Failure {
    if let failure = connectionFailure(code) { return failure }
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST:
      return Failure(.unresolved(name: origin.name), isTransient: true)
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_NO_CONNECTION_AVAILABLE:
      return Failure(.noConnection(to: origin.address + way, cause: systemError ?? curlError(code)), isTransient: true)
    case CURLE_OPERATION_TIMEDOUT:
      return timedOut(after: options.connectTimeout)
    case CURLE_PARTIAL_FILE:
      return truncated
    case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
      return .transient(.reset, "\(origin.address) broke the connection off after \(bodyBytes) bytes of the body")
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
      return .transient(.reset, "\(origin.address) did not answer in HTTP: \(curlError(code))")
    case CURLE_OUT_OF_MEMORY where phase == .connected && bodyBytes == 0:
      // libcurl says so of a header line that is longer than it takes (100 KiB), too.
      return .transient(.reset, "\(origin.address) did not answer in HTTP: the header is too long, or no memory was left for it")
    case CURLE_SSL_CONNECT_ERROR:
      return Failure(
        .tls,
        isTransient: isHandshakeCut,
        message: "the TLS handshake with \(origin.address) failed: \(curlError(code))"
      )
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CLIENTCERT:
      return Failure(.tls, message: "the certificate of \(origin.address) was refused: \(curlError(code))")
    case CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ENGINE_NOTFOUND, CURLE_USE_SSL_FAILED:
      return Failure(.tls, message: "TLS to \(origin.address) could not be set up: \(curlError(code))")
    case CURLE_BAD_CONTENT_ENCODING:
      // Not `undecodable`, which says that an image is broken for good: here no image was seen.
      return Failure(
        .contentType,
        status: status,
        message: "the body came with a Content-Encoding that was not asked for and could not be undone: \(curlError(code))"
      )
    case CURLE_URL_MALFORMAT:
      return Failure(.invalidURL, message: "libcurl cannot use the URL: \(curlError(code))")
    default:
      return Failure(.internal, message: "libcurl gave up with \(code.rawValue): \(curlError(code))")
    }
  }

  /// A time limit counts for what it fell into: resolving, connecting, or the transfer as a whole.
  private func timedOut(after limit: Duration) -> Failure {
    switch phase {
    case .resolving: .transient(.dns, "the name \(origin.name) was not resolved within \(limit.text)")
    case .connecting: .transient(.connect, "no answer from \(origin.address) within \(limit.text) while connecting")
    case .connected: .transient(.timeout, "the transfer was not done within \(limit.text); \(bodyBytes) bytes of the body came")
    }
  }

  var truncated: Failure {
    let declared = declaredBytes.map { " of \($0)" } ?? ""
    return .transient(.truncated, "the body ended after \(bodyBytes)\(declared) bytes")
  }

  /// Whether the peer just went away in the handshake; an alert or a protocol it does not speak would come again.
  private var isHandshakeCut: Bool {
    let text = String(cString: errorText)
    return text.contains("SSL_ERROR_SYSCALL") || text.contains("SSL_connect:") || text.contains("unexpected eof")
  }

  var origin: URLOrigin { URLOrigin(url)! }

  /// The reason of the last system call that failed in this transfer.
  private var systemError: String? {
    var number = 0
    curl_get_long(easy, CURLINFO_OS_ERRNO, &number)
    return number == 0 ? nil : errorSentence(Int32(number))
  }

  func curlError(_ code: CURLcode) -> String {
    errorText.pointee == 0 ? Curl.describe(code) : String(cString: errorText)
  }
}

extension Failure {
  static func transient(_ kind: FailureKind, _ message: String) -> Failure { Failure(kind, isTransient: true, message: message) }

  static func status(_ status: Int) -> Failure {
    let phrase = HTTPPhrases.phrase(of: status).map { " \($0)" } ?? ""
    return Failure(
      .httpStatus,
      status: status,
      isTransient: HTTPStatus.isTransient(status),
      message: "the server answered \(status)\(phrase)"
    )
  }

  static func tooLarge(limit: Int, declared: Int? = nil, status: Int?) -> Failure {
    Failure(.bodyTooLarge(declaredBytes: declared, maximum: limit), status: status)
  }
}

/// What fails by the way in which servers are reached: proxies, files of TLS, the version of HTTP.
extension Transfer {
  private var connection: DownloadOptions.Connection { options.connection }

  /// What is said of the way to the server where it is not a direct one.
  var way: String {
    switch connection.proxy {
    case .none: ""
    // Which of both it was, libcurl does not tell.
    case .environment: " or the proxy of the environment"
    case .url: " through the proxy"
    }
  }

  /// Why `code` came, where the options of its connection explain it.
  func connectionFailure(_ code: CURLcode) -> Failure? {
    if let refusedAddress, !hasOpenedSocket || code == CURLE_ABORTED_BY_CALLBACK {
      return Failure(.refusedAddress, message: "\(origin.name) leads to \(refusedAddress), which is no public address")
    }
    if code == CURLE_COULDNT_RESOLVE_PROXY { return .transient(.dns, "the name of the proxy could not be resolved") }
    if code == CURLE_PROXY {
      return .transient(.connect, "the proxy made no connection to \(origin.address): \(curlError(code))")
    }
    if let status = tunnelStatus {
      let phrase = HTTPPhrases.phrase(of: status).map { " \($0)" } ?? ""
      return Failure(
        .connect,
        isTransient: HTTPStatus.isTransient(status),
        message: "the proxy made no connection to \(origin.address): it answered \(status)\(phrase)"
      )
    }
    if let failure = fileFailure(code) { return failure }
    if String(cString: errorText).contains("alert certificate required") {
      return Failure(.tls, message: "\(origin.address) asks for a client certificate, and none was shown that it takes")
    }
    // A server of HTTP/1.1 answers what makes no frames of HTTP/2, which libcurl takes for no answer.
    guard connection.httpVersion == .http2, !origin.isSecure, statusOnWire == 0,
      [CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2].contains(code)
    else { return nil }
    return .transient(
      .connect,
      "\(origin.address) broke the connection off before any answer; it may not speak HTTP/2, and nothing else is asked for"
    )
  }

  /// The status of a proxy that refused a tunnel; nil where none did.
  private var tunnelStatus: Int? {
    var status = 0
    curl_get_long(easy, CURLINFO_HTTP_CONNECTCODE, &status)
    return status == 0 || 200...299 ~= status ? nil : status
  }

  /// What libcurl says of files that TLS needs, which does not name all of them.
  private func fileFailure(_ code: CURLcode) -> Failure? {
    switch (code, connection.tls.caFile, connection.tls.clientCertificate) {
    case (CURLE_SSL_CACERT_BADFILE, let file?, _):
      return Failure(.tls, message: "the file of trusted certificates, \(file), could not be read as PEM: \(curlError(code))")
    case (CURLE_SSL_CERTPROBLEM, _, let certificate?):
      let key = connection.tls.clientKey.map { " with the key \($0)" } ?? ""
      return Failure(.tls, message: "the client certificate \(certificate)\(key) could not be used: \(curlError(code))")
    default:
      return nil
    }
  }

  // MARK: The version

  /// Whether the answer is in the version of HTTP that was asked for.
  var speaksAsAsked: Bool {
    guard connection.httpVersion == .http2 else { return true }
    var version = 0
    curl_get_long(easy, CURLINFO_HTTP_VERSION, &version)
    return version == CURL_HTTP_VERSION_2_0
  }

  var otherVersion: Failure {
    Failure(.connect, message: "\(origin.address) does not speak HTTP/2, and nothing else is asked for")
  }
}
