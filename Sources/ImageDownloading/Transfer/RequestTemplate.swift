import CCurl
import ImagePrimitives
import ImageURLs

/// What the requests of one job have in common, set on a handle once and kept until another job's request uses the handle.
final class RequestTemplate {
  /// libcurl reads from a socket in pieces of this size, at most.
  private static let bufferBytes = 64 << 10
  /// The same for probes: what lies beyond the prefix is read in vain.
  private static let probeBufferBytes = 16 << 10

  /// What tells one template from another.
  struct Kind {
    var prepared: PreparedOptions
    /// False leaves out the job's own headers, which no other origin may see.
    var isOwnOrigin: Bool
    /// What is asked for on the wire, which need not be what the options say.
    var method: DownloadOptions.Method

    /// Whether cookies are sent and kept: at the download's own origin alone, as its headers. The jar itself tells hosts apart, and no
    /// ports (RFC 6265, section 8.5).
    var handlesCookies: Bool { prepared.options.handlesCookies && isOwnOrigin }

    static func == (left: Kind, right: Kind) -> Bool {
      left.prepared === right.prepared && left.isOwnOrigin == right.isOwnOrigin && left.method == right.method
    }
  }

  let kind: Kind
  let headers: CurlList
  /// Who is connected to in place of some hosts.
  private let connectTo: CurlList?
  private var options: DownloadOptions { kind.prepared.options }

  init(_ kind: Kind, defaults: [HeaderField]) {
    self.kind = kind
    headers = CurlList(
      headers: kind.prepared.options.requestHeaders(
        defaults: defaults,
        isOwnOrigin: kind.isOwnOrigin,
        range: kind.method == .probe ? .first : nil
      ),
      removing: kind.prepared.options.removedHeaders(isOwnOrigin: kind.isOwnOrigin)
    )
    let targets = kind.prepared.options.connection.connectTo
    connectTo = targets.isEmpty ? nil : CurlList(targets.map(\.text))
  }

  /// Sets all options of a handle anew but the URL.
  func apply(to transfer: Transfer) {
    let easy = transfer.easy
    // Keeps what the handle shares.
    curl_easy_reset(easy)
    curl_set_list(easy, CURLOPT_HTTPHEADER, headers.first)
    if kind.method == .head { curl_set_long(easy, CURLOPT_NOBODY, 1) }
    curl_set_text(easy, CURLOPT_ACCEPT_ENCODING, DownloadOptions.acceptEncoding)
    // What comes coded nevertheless is decoded here: libcurl takes a stream that is cut for a whole one.
    curl_set_long(easy, CURLOPT_HTTP_CONTENT_DECODING, 0)
    curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(options.connectTimeout.wholeMilliseconds)))
    curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    curl_set_long(easy, CURLOPT_NETRC, 0)
    // The URL is normalised, and what is its identity is what is sent.
    curl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
    curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    curl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
    curl_set_long(easy, CURLOPT_BUFFERSIZE, kind.method == .probe ? Self.probeBufferBytes : Self.bufferBytes)
    curl_set_pointer(easy, CURLOPT_ERRORBUFFER, transfer.errorText)
    // Starts the handling of cookies; those themselves are the share's.
    if kind.handlesCookies { curl_set_text(easy, CURLOPT_COOKIEFILE, "") }
    curl_set_list(easy, CURLOPT_CONNECT_TO, connectTo?.first)
    setProxy(easy, options.connection.proxy)
    setTLS(easy, options.connection.tls)
    setTLSVersion(easy)
    setCallbacks(easy, Unmanaged.passUnretained(transfer).toOpaque())
  }

  private func setProxy(_ easy: UnsafeMutableRawPointer, _ proxy: DownloadOptions.Proxy) {
    switch proxy {
    // An empty one, since libcurl takes the environment's where none is set.
    case .none: curl_set_text(easy, CURLOPT_PROXY, "")
    case .environment: break
    case .url(let url): curl_set_text(easy, CURLOPT_PROXY, url)
    }
    // What a proxy says of its tunnel is no answer.
    curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
  }

  private func setTLS(_ easy: UnsafeMutableRawPointer, _ tls: DownloadOptions.TLS) {
    if options.allowsInvalidTLSCertificates {
      curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 0)
      curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 0)
    }
    if let file = tls.caFile {
      for option in [CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO] { curl_set_text(easy, option, file) }
      // Else the system's folder of certificates is trusted as well.
      for option in [CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH] { curl_set_text(easy, option, nil) }
    }
    guard kind.isOwnOrigin, let certificate = tls.clientCertificate else { return }
    curl_set_text(easy, CURLOPT_SSLCERT, certificate)
    curl_set_text(easy, CURLOPT_SSLKEY, tls.clientKey ?? certificate)
    // Else OpenSSL asks for an encrypted key's at the terminal.
    curl_set_text(easy, CURLOPT_KEYPASSWD, "")
  }

  /// TLS 1.2 or later for all, which is libcurl's default and what HTTP/2 needs (RFC 9113, section 9.2), but each time in other
  /// words: connections of one setting are not used under another, so that requests of HTTP/1.1 and HTTP/2 never meet on one.
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

/// A request that is not just its template with a URL: a conditional one, one that hooks have changed, or one for a later part of
/// a body.
struct OwnRequest {
  var url: [UInt8]
  let headers: CurlList
  /// Whether a 304 answers it.
  let isConditional: Bool

  /// The next request of `job`; nil where the template does.
  ///
  /// Throws where a hook, which sees only those to the download's own origin, refuses it or makes of it what cannot be sent.
  init?(for job: PendingTransfer, _ kind: RequestTemplate.Kind, defaults: [HeaderField]) throws(Failure) {
    let options = job.download.options
    let isChanged = job.download.validators != nil || options.headerFilter != nil || options.requestModifier != nil
    guard isChanged && kind.isOwnOrigin || job.continuation != nil else { return nil }
    let range = job.continuation?.request ?? (kind.method == .probe ? .first : nil)
    // What goes on is conditional on what it goes on from.
    let isFirst = job.continuation == nil && job.accepted == nil
    let validators = kind.isOwnOrigin && isFirst ? job.download.validators : nil
    let conditions = validators.map(Self.conditions) ?? []
    url = job.url
    isConditional = !conditions.isEmpty
    let fields = options.requestHeaders(defaults: defaults, isOwnOrigin: kind.isOwnOrigin, range: range)
    guard kind.isOwnOrigin else {
      headers = CurlList(headers: fields, removing: [])
      return
    }
    var request = DownloadRequest(url: String(decoding: job.url, as: UTF8.self), headers: fields + conditions)
    if let filter = options.headerFilter {
      request.headers = filter.filter(request.url, request.headers)
      try Self.check(request.headers, "header filter", filter.name)
    }
    if let modifier = options.requestModifier {
      guard let modified = modifier.modify(request) else {
        throw Failure(.internal, message: "the request modifier \(modifier.name) refused the request")
      }
      try Self.check(modified.headers, "request modifier", modifier.name)
      if modified.url != request.url { url = try Self.normalized(modified.url, like: job.url, modifier.name) }
      request = modified
    }
    // What a hook has taken out is left out, be it one that libcurl would add; but what makes it a probe stays.
    let kept = range?.added(to: request.headers) ?? request.headers
    headers = CurlList(headers: kept, removing: ["Accept"] + options.removedHeaders())
  }

  /// The headers that ask whether `validators` still hold (RFC 9110, 13.1.2 and 13.1.3). What cannot be sent is not asked.
  private static func conditions(_ validators: Validators) -> [HeaderField] {
    [("If-None-Match", validators.etag), ("If-Modified-Since", validators.lastModified)].compactMap { name, value in
      guard let value, !value.isEmpty, DownloadOptions.isValidHeader(name: name, value: value) else { return nil }
      return HeaderField(name, value)
    }
  }

  private static func check(_ headers: [HeaderField], _ hook: String, _ name: String) throws(Failure) {
    for field in headers where !DownloadOptions.isValidHeader(name: field.name, value: field.value) {
      throw Failure(.internal, message: "the \(hook) \(name) made a header that cannot be sent")
    }
  }

  /// The URL of a modifier, which may lead to no other origin: limits count that one, and secrets go there.
  private static func normalized(_ written: String, like own: [UInt8], _ modifier: String) throws(Failure) -> [UInt8] {
    var url: [UInt8] = []
    do throws(InvalidURL) {
      _ = try Array(written.utf8).withRawBytes { written throws(InvalidURL) in
        try URLNormalizer().normalize(written, relativeTo: nil, into: &url)
      }
    } catch {
      throw Failure(.internal, message: "the request modifier \(modifier) made a URL that cannot be used: \(error.message)")
    }
    guard URLOrigin(url) == URLOrigin(own) else {
      throw Failure(.internal, message: "the request modifier \(modifier) made a URL of another scheme, host or port")
    }
    return url
  }
}
