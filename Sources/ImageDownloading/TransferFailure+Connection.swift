import CCurl
import ImagePrimitives

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
