import CCurl
import Platform
import Base

extension Transfer {
  func brokenTimeLimit(_ now: MonotonicInstant) -> ImageFailure? {
    if now >= request.deadline { return timedOut(after: options.timeout) }
    guard request.phase == .connected else {
      guard now >= connectLimit else { return nil }
      return .transient(.connect, "no connection to \(server.address) within \((options.connectTimeout * 2).text)")
    }
    guard now >= request.lastProgress.advanced(by: options.stallTimeout) else { return nil }
    return .transient(.stalled, "no data for \(options.stallTimeout.text) \(progressReached)")
  }

  var nextTimeLimit: MonotonicInstant {
    request.phase == .connected
      ? min(request.deadline, request.lastProgress.advanced(by: options.stallTimeout)) : min(request.deadline, connectLimit)
  }

  /// When it must have a connection. libcurl has the same limit, but not for a transfer that waits for another's connection, which gets
  /// the same time; if that connection is lost, libcurl 7.88 sometimes forgets the waiting transfers.
  private var connectLimit: MonotonicInstant { request.started.advanced(by: options.connectTimeout * 2) }

  /// No time limit can be exceeded before this.
  var earliestTimeLimit: MonotonicInstant {
    min(request.deadline, connectLimit, request.started.advanced(by: options.stallTimeout))
  }

  func failure(_ code: CURLcode) -> ImageFailure {
    if let failure = connectionFailure(code) { return failure }
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST:
      return ImageFailure(.unresolved(name: server.name), isTransient: true)
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_NO_CONNECTION_AVAILABLE:
      let error = number(CURLINFO_OS_ERRNO)
      let cause = error == 0 ? curlError(code) : errorSentence(Int32(error))
      return ImageFailure(.noConnection(to: server.address + way, cause: cause), isTransient: true)
    case CURLE_OPERATION_TIMEDOUT:
      return timedOut(after: options.connectTimeout)
    case CURLE_PARTIAL_FILE:
      return truncated
    case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
      return .transient(.reset, "\(server.address) closed the connection \(progressReached)")
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
      return invalidResponse(curlError(code))
    case CURLE_OUT_OF_MEMORY where request.phase == .connected && body.count == 0:
      // libcurl reports this for a header line above its limit (100 KiB), too.
      return invalidResponse("the header is too long, or memory is exhausted")
    case CURLE_BAD_FUNCTION_ARGUMENT where request.phase == .connected:
      // libcurl reports this for a header that it cannot store: a folded line that continues none, or a trailer without a colon.
      return invalidResponse("a header line has no name")
    case CURLE_SSL_CONNECT_ERROR:
      let cause = curlError(code)
      // The peer closed the connection in the handshake; an alert or an unsupported protocol would occur again.
      let isCut = ["SSL_ERROR_SYSCALL", "SSL_connect:", "unexpected eof"].contains(where: cause.contains)
      return ImageFailure(.tls, isTransient: isCut, message: "the TLS handshake with \(server.address) failed: \(cause)")
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CLIENTCERT:
      // Browsers fetch a missing intermediate certificate.
      let isIncomplete = curlError(code).hasSuffix("unable to get local issuer certificate")
      let cause = isIncomplete ? "; the server doesn't send an intermediate certificate, or its CA isn't trusted here" : ""
      return ImageFailure(.tls, message: "the certificate of \(server.address) was rejected: \(curlError(code))\(cause)")
    case CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ENGINE_NOTFOUND, CURLE_USE_SSL_FAILED:
      return ImageFailure(.tls, message: "cannot set up TLS to \(server.address): \(curlError(code))")
    case CURLE_BAD_CONTENT_ENCODING:
      // Not `undecodable`, which means that an image is permanently broken: here no image was seen.
      return ImageFailure(
        .contentType,
        status: status,
        message: "the body has an unrequested Content-Encoding that can't be decoded: \(curlError(code))"
      )
    case CURLE_URL_MALFORMAT:
      return ImageFailure(.invalidURL, message: "libcurl rejects the URL: \(curlError(code))")
    default:
      return ImageFailure(.internal, message: "libcurl failed with code \(code.rawValue): \(curlError(code))")
    }
  }

  /// A time limit counts for the phase in which it was exceeded: resolving, connecting, or the whole transfer.
  private func timedOut(after limit: Duration) -> ImageFailure {
    switch request.phase {
    case .resolving: .transient(.dns, "the name \(server.name) wasn't resolved within \(limit.text)")
    case .connecting: .transient(.connect, "no connection to \(server.address) within \(limit.text)")
    case .connected: .transient(.timeout, "the transfer took more than \(limit.text); it ended \(progressReached)")
    }
  }

  /// How far the response came, as the end of a sentence.
  private var progressReached: String {
    if body.count > 0 { return "after \(body.count) bytes of the body" }
    return statusOnWire == 0 ? "before the response headers" : "after status \(statusOnWire), before the body"
  }

  func invalidResponse(_ cause: String) -> ImageFailure {
    .transient(.reset, "\(server.address) sent an invalid HTTP response: \(cause)")
  }

  var truncated: ImageFailure {
    let declared = response.declaredBytes.map { " of \($0)" } ?? ""
    return .transient(.truncated, "the body ended after \(body.count)\(declared) bytes")
  }

  private var origin: URLOrigin { URLOrigin(request.url)! }

  /// The server of the connection, which messages name: the URL's, or the one that connects in place of it.
  var server: URLOrigin { origin.connecting(by: options) }

  func curlError(_ code: CURLcode) -> String {
    errorText.pointee == 0 ? Curl.describe(code) : String(cString: errorText)
  }
}

extension ImageFailure {
  static func transient(_ kind: FailureKind, _ message: String) -> ImageFailure {
    ImageFailure(kind, isTransient: true, message: message)
  }

  static func status(_ status: Int, to request: String?, isPermanent: Bool) -> ImageFailure {
    ImageFailure(
      .httpStatus,
      status: status,
      isTransient: HTTPStatus.isTransient(status) && !isPermanent,
      message: "the server responded \(request.map { "to \($0) " } ?? "")with \(HTTPStatus.named(status))"
    )
  }

  static func tooLarge(limit: Int, declared: Int? = nil, status: Int?) -> ImageFailure {
    ImageFailure(.bodyTooLarge(declaredBytes: declared, maximum: limit), status: status)
  }
}

/// Failures of proxies, TLS files and the version of HTTP.
extension Transfer {
  private var connection: DownloadOptions.Connection { options.connection }

  /// The addition to messages if the connection isn't direct.
  var way: String {
    switch connection.proxy {
    case .none: ""
    // libcurl doesn't report which of the two failed.
    case .environment: " or the proxy of the environment"
    case .url: " through the proxy"
    }
  }

  /// The failure, with the proxy of the environment if that could have reached the host.
  func namingUnusedProxy(_ failure: ImageFailure) -> ImageFailure {
    guard request.phase != .connected, [.dns, .connect].contains(failure.kind), connection.proxy == .none,
      let variable = EnvironmentProxy.variable(isSecure: origin.isSecure, host: origin.name)
    else { return failure }
    return ImageFailure(.unusedProxy(variable: variable, failure), isTransient: failure.isTransient)
  }

  /// The failure for `code`, if the connection's options explain it.
  func connectionFailure(_ code: CURLcode) -> ImageFailure? {
    if let refusedAddress = request.refusedAddress, !request.hasOpenedSocket || code == CURLE_ABORTED_BY_CALLBACK {
      return ImageFailure(.refusedAddress, message: "\(server.name) resolves to \(refusedAddress), which isn't a public address")
    }
    if code == CURLE_COULDNT_RESOLVE_PROXY { return .transient(.dns, "the name of the proxy could not be resolved") }
    if code == CURLE_PROXY {
      return .transient(.connect, "the proxy cannot connect to \(server.address): \(curlError(code))")
    }
    // Of a proxy that was asked for a tunnel.
    let status = number(CURLINFO_HTTP_CONNECTCODE)
    if status != 0, !(200...299 ~= status) {
      let message = "the proxy cannot connect to \(server.address): it responded with \(HTTPStatus.named(status))"
      return ImageFailure(.connect, isTransient: HTTPStatus.isTransient(status), message: message)
    }
    if let failure = fileFailure(code) { return failure }
    if String(cString: errorText).contains("alert certificate required") {
      return ImageFailure(.tls, message: "\(server.address) requires a client certificate; none was sent, or it was rejected")
    }
    // libcurl reports an HTTP/1.1 response to HTTP/2 frames as no response.
    guard connection.httpVersion == .http2, !origin.isSecure, statusOnWire == 0,
      [CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2].contains(code)
    else { return nil }
    return .transient(
      .connect,
      "\(server.address) closed the connection before any response; it may not support HTTP/2, which the options require"
    )
  }

  /// libcurl's error about a TLS file, with the file's name, which libcurl doesn't always give.
  private func fileFailure(_ code: CURLcode) -> ImageFailure? {
    switch (code, connection.tls.caFile, connection.tls.clientCertificate) {
    case (CURLE_PEER_FAILED_VERIFICATION, nil, _) where SystemCertificates.found.isEmpty:
      let advice = "install ca-certificates, or name a file by the variable SSL_CERT_FILE"
      return ImageFailure(.internal, message: "this machine has no CA certificates to verify servers by; \(advice)")
    case (CURLE_SSL_CACERT_BADFILE, nil, _):
      let file = SystemCertificates.found.file ?? ""
      return ImageFailure(.internal, message: "cannot read the CA certificates in \(file) as PEM: \(curlError(code))")
    case (CURLE_SSL_CACERT_BADFILE, let file?, _):
      return ImageFailure(.tls, message: "cannot read the CA file \(file) as PEM: \(curlError(code))")
    case (CURLE_SSL_CERTPROBLEM, _, let certificate?):
      let key = connection.tls.clientKey.map { " with the key \($0)" } ?? ""
      return ImageFailure(.tls, message: "cannot use the client certificate \(certificate)\(key): \(curlError(code))")
    default:
      return nil
    }
  }
}
