import CCurl
import Base

/// The common options of one job's requests, set on the handle of each.
final class RequestTemplate {
  struct Kind {
    var prepared: PreparedOptions
    /// False omits the job's own headers, which no other origin may see.
    var isOwnOrigin: Bool
    /// The method on the wire, which may differ from the options' method.
    var method: DownloadOptions.Method
    /// Whether a probe asks for no range, and ends after its prefix.
    var isPlain = false

    /// The headers of a probe's first request.
    var range: RangeRequest? { method != .probe ? nil : isPlain ? .whole : .first }

    /// Whether only a plain GET shows that it failed because of the URL.
    var isTentative: Bool { method == .head || method == .probe && !isPlain }

    /// Whether cookies are sent and kept: only at the download's own origin, as the jar doesn't separate ports (RFC 6265, 8.5).
    var handlesCookies: Bool { prepared.options.handlesCookies && isOwnOrigin }

    static func == (left: Kind, right: Kind) -> Bool {
      left.prepared === right.prepared && left.isOwnOrigin == right.isOwnOrigin && left.method == right.method
        && left.isPlain == right.isPlain
    }
  }

  let kind: Kind
  let headers: CurlList
  /// Other targets for some hosts.
  private let connectTo: CurlList?
  private var options: DownloadOptions { kind.prepared.options }

  init(_ kind: Kind, defaults: [HeaderField]) {
    self.kind = kind
    headers = CurlList(
      headers: kind.prepared.options.requestHeaders(defaults: defaults, isOwnOrigin: kind.isOwnOrigin, range: kind.range),
      removing: kind.prepared.options.removedHeaders(isOwnOrigin: kind.isOwnOrigin)
    )
    let targets = kind.prepared.options.connection.connectTo
    connectTo = targets.isEmpty ? nil : CurlList(targets.map(\.text))
  }

  /// Sets all options of a handle except the URL.
  func apply(to transfer: Transfer) {
    let easy = transfer.easy
    curl_set_list(easy, CURLOPT_HTTPHEADER, headers.first)
    if kind.method == .head { curl_set_long(easy, CURLOPT_NOBODY, 1) }
    if options.purpose.describesDelivery { curl_set_long(easy, CURLOPT_CERTINFO, 1) }
    curl_set_text(easy, CURLOPT_ACCEPT_ENCODING, DownloadOptions.acceptEncoding)
    // Coded bodies are decoded here: libcurl takes a truncated stream for a complete one.
    curl_set_long(easy, CURLOPT_HTTP_CONTENT_DECODING, 0)
    curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(options.connectTimeout.wholeMilliseconds)))
    curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    // The URL is already normalised, and must be sent exactly as it identifies the image.
    curl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
    curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    curl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
    curl_set_pointer(easy, CURLOPT_ERRORBUFFER, transfer.errorText)
    // Turns on cookies; the share holds them.
    if kind.handlesCookies { curl_set_text(easy, CURLOPT_COOKIEFILE, "") }
    curl_set_list(easy, CURLOPT_CONNECT_TO, connectTo?.first)
    options.connection.apply(to: easy)
    setTLS(easy, options.connection.tls)
    setTLSVersion(easy)
    setCallbacks(easy, Unmanaged.passUnretained(transfer).toOpaque())
    // Its context is the loop's record: a connection outlives its transfers.
    curl_set_close_socket_callback(
      easy,
      { record, socket in
        Unmanaged<TransferRecord>.fromOpaque(record!).takeUnretainedValue().close(socket)
        return 0
      },
      Unmanaged.passUnretained(transfer.record).toOpaque()
    )
  }

  private func setTLS(_ easy: UnsafeMutableRawPointer, _ tls: DownloadOptions.TLS) {
    if options.allowsInvalidTLSCertificates {
      curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 0)
      curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 0)
    }
    guard kind.isOwnOrigin, let certificate = tls.clientCertificate else { return }
    curl_set_text(easy, CURLOPT_SSLCERT, certificate)
    curl_set_text(easy, CURLOPT_SSLKEY, tls.clientKey ?? certificate)
    // Otherwise OpenSSL asks for an encrypted key's pass phrase on the terminal.
    curl_set_text(easy, CURLOPT_KEYPASSWD, "")
  }

  /// TLS 1.2 or later for all, which is libcurl's default and required by HTTP/2 (RFC 9113, section 9.2), but set in different ways:
  /// libcurl doesn't share connections between different settings, so HTTP/1.1 and HTTP/2 requests never use the same one.
  private func setTLSVersion(_ easy: UnsafeMutableRawPointer) {
    switch options.connection.httpVersion {
    case .automatic: break
    case .http1: curl_set_long(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 | CURL_SSLVERSION_MAX_DEFAULT)
    case .http2: curl_set_long(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    }
  }

  private func setCallbacks(_ easy: UnsafeMutableRawPointer, _ context: UnsafeMutableRawPointer) {
    curl_set_pointer(easy, CURLOPT_PRIVATE, context)
    curl_set_body_callback(
      easy,
      { bytes, one, count, context in
        let bytes = UnsafeRawBufferPointer(start: bytes, count: one * count)
        return Transfer.of(context).receive(bytes) ? bytes.count : 0
      },
      context
    )
    curl_set_header_callback(
      easy,
      { line, one, count, context in
        let line = UnsafeRawBufferPointer(start: line, count: one * count)
        return Transfer.of(context).noteHeader(line) ? line.count : 0
      },
      context
    )
    curl_set_open_socket_callback(easy, { context, _, address in Transfer.of(context).openSocket(address) }, context)
    curl_set_prerequest_callback(
      easy,
      { context, address, _, _, _ in
        Transfer.of(context).noteConnected(to: address) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      },
      context
    )
  }
}

extension Transfer {
  /// The transfer behind the pointer that libcurl keeps.
  static func of(_ context: UnsafeMutableRawPointer?) -> Transfer {
    Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
  }
}

extension DownloadOptions.Connection {
  /// Sets the proxy and the trusted certificates of a handle of libcurl.
  package func apply(to easy: UnsafeMutableRawPointer) {
    switch proxy {
    // Empty, since libcurl would use the environment's proxy otherwise.
    case .none: curl_set_text(easy, CURLOPT_PROXY, "")
    case .environment: break
    case .url(let url): curl_set_text(easy, CURLOPT_PROXY, url)
    }
    // A proxy's response to CONNECT isn't the response to the request.
    curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    let found = SystemCertificates.found
    // With a file of its own, the system's certificates aren't trusted.
    let (file, folder) = tls.caFile.map { ($0, nil) } ?? (found.file, found.folder)
    if tls.caFile != nil || !found.isStandard {
      for option in [CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO] { curl_set_text(easy, option, file) }
    }
    for option in [CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH] { curl_set_text(easy, option, folder) }
  }
}

/// A request that differs from its template by more than the URL: conditional, changed by hooks, or for a later part of a body.
struct OwnRequest {
  var url: [UInt8]
  let headers: CurlList
  /// Whether a 304 is a valid response.
  let isConditional: Bool
  /// Whether a modifier has changed who it comes from.
  private(set) var hasUnknownSender = false

  /// Creates the next request of `job`; nil if the template suffices.
  ///
  /// Throws if a hook, which sees only requests to the download's own origin, rejects it or makes it invalid.
  init?(for job: QueuedDownload, _ kind: RequestTemplate.Kind, defaults: [HeaderField]) throws(ImageFailure) {
    // Without a copy of the options, which would retain each part.
    let prepared = job.download.prepared
    let isChanged = job.download.validators != nil || prepared.options.requestModifier != nil
    guard isChanged && kind.isOwnOrigin || job.continuation != nil else { return nil }
    let range = job.continuation?.request ?? kind.range
    // Continuations and second requests have no validators: a continuation has its own condition.
    let isFirst = job.continuation == nil && job.accepted == nil
    let validators = kind.isOwnOrigin && isFirst ? job.download.validators : nil
    let conditions = validators.map(Self.conditions) ?? []
    url = job.url
    isConditional = !conditions.isEmpty
    let fields = prepared.options.requestHeaders(defaults: defaults, isOwnOrigin: kind.isOwnOrigin, range: range)
    guard kind.isOwnOrigin else {
      headers = CurlList(headers: fields, removing: [])
      return
    }
    var request = DownloadRequest(url: String(decoding: job.url, as: UTF8.self), headers: fields + conditions)
    if let modifier = prepared.options.requestModifier {
      guard let modified = modifier.hook.call(request) else {
        throw ImageFailure(.internal, message: "the request modifier \(modifier.name) rejected the request")
      }
      guard modified.headers.allSatisfy({ DownloadOptions.isValidHeader(name: $0.name, value: $0.value) }) else {
        throw ImageFailure(.internal, message: "the request modifier \(modifier.name) returned an invalid header")
      }
      if modified.url != request.url { url = try Self.normalized(modified.url, like: job.url, modifier.name) }
      hasUnknownSender = Set(modified.headers.filter(\.isCredential)) != Set(fields.filter(\.isCredential))
      request = modified
    }
    // Headers that a hook removed aren't sent, even if libcurl would add them; but those of a probe stay.
    let kept = range?.added(to: request.headers) ?? request.headers
    headers = CurlList(headers: kept, removing: ["Accept"] + prepared.options.removedHeaders(isOwnOrigin: true))
  }

  /// The headers that ask whether `validators` are still current (RFC 9110, 13.1.2 and 13.1.3). Invalid ones are omitted.
  private static func conditions(_ validators: Validators) -> [HeaderField] {
    [("If-None-Match", validators.etag), ("If-Modified-Since", validators.lastModified)].compactMap { name, value in
      guard let value, !value.isEmpty, DownloadOptions.isValidHeader(name: name, value: value) else { return nil }
      return HeaderField(name, value)
    }
  }

  /// The URL of a modifier, which must keep its origin: limits and secrets belong to that.
  private static func normalized(_ written: String, like own: [UInt8], _ modifier: String) throws(ImageFailure) -> [UInt8] {
    let url: [UInt8]
    do throws(InvalidURL) {
      url = try BaseURL(written).bytes
    } catch {
      throw ImageFailure(.internal, message: "the request modifier \(modifier) returned an invalid URL: \(error.message)")
    }
    guard URLOrigin(url) == URLOrigin(own) else {
      throw ImageFailure(.internal, message: "the request modifier \(modifier) returned a URL with another scheme, host or port")
    }
    return url
  }
}
