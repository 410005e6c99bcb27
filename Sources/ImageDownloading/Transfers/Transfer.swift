import CCurl
import Platform
import Base

/// A running request: an easy handle and the body that it receives; reused, except for the handle, for one request after another.
///
/// While it runs it belongs to its loop, whose callbacks change only this and the ``TransferRecord``; otherwise to the scheduler.
final class Transfer {
  /// The state of its connection.
  enum Phase {
    case resolving, connecting, connected
  }

  /// Whether the bytes of the body are kept.
  enum Disposition {
    case undecided, kept, discarded
  }

  /// libcurl 7.88 limits headers to 300 KB, but not trailers.
  private static let maximumHeaderBytes = 512 << 10
  /// The maximum size of libcurl's reads from a socket.
  private static let bufferBytes = 64 << 10
  /// The maximum for probes: bytes beyond the prefix are wasted.
  private static let probeBufferBytes = 16 << 10
  /// For connections that may use HTTP/2: more than the 128 KiB to which libcurl 7.88 limits a head, since it stops reading a response
  /// whose head fills the buffer. It reads at most 32 KiB at once from such a connection.
  private static let http2BufferBytes = 144 << 10

  private(set) var easy = Transfer.newHandle()
  /// Its index among the scheduler's transfers.
  let index: Int
  /// libcurl writes error descriptions here.
  let errorText: UnsafeMutablePointer<CChar>
  let record: TransferRecord
  /// The number of its loop.
  let loop: Int
  private let shares: CurlShares
  private var template: RequestTemplate?
  /// The headers of this request, if they aren't the template's.
  private var ownHeaders: CurlList?

  /// The job that it serves; nil while it is free.
  private(set) var job: Int?
  /// Counts its requests.
  private(set) var run: UInt64 = 0
  /// Whether it is in libcurl, and whether its loop knows it.
  var isRunning = false
  var isListed = false
  /// Whether its progress is reported.
  var isObserved = false

  var request: Request
  /// The response's headers that the downloader reads; outside of ``response``, so that their storage is reused.
  var fields = ResponseFields()
  var response = Response()
  var body = Body()

  /// The request in libcurl, and how far it came.
  struct Request {
    var prepared: PreparedOptions
    var attempt = 0
    var url: [UInt8] = []
    var started = MonotonicInstant(nanoseconds: 0)
    /// The time limit of the whole attempt.
    var deadline = MonotonicInstant(nanoseconds: 0)
    var method = DownloadOptions.Method.get
    /// Whether it is a probe that asks for a range.
    var isRanged = false
    /// Whether a 304 is a valid response.
    var isConditional = false
    /// Whether a modifier has changed who it comes from.
    var hasUnknownSender = false
    /// Whether it is the second request after an accepted one, for the status of caches on the way.
    var isSecond = false
    var phase = Phase.resolving
    /// Whether its host's other transfers wait for it, or for its name.
    var resolves = false
    /// Whether it counts as a name that is being resolved.
    var isCountedAsResolving = false
    /// Whether an address was tried.
    var hasOpenedSocket = false
    /// An address that it was about to connect to but may not.
    var refusedAddress: String?
    /// The time of the last byte, or of the connection.
    var lastProgress = MonotonicInstant(nanoseconds: 0)
    /// Whether its progress is already noted in this iteration.
    var isNoted = false
    /// Whether the next report of progress needs the response's head.
    var needsHead = true
  }

  /// The response to the request, besides the headers and the bytes.
  struct Response {
    var disposition = Disposition.undecided
    var headerBytes = 0
    var modifiedHead: ResponseHead?
    /// Why it is rejected; its body may still be read to its end.
    var rejection: ImageFailure?
    /// Why we stopped the transfer.
    var refusal: ImageFailure?
    var remoteCache: RemoteCacheResponse?
    /// The offset at which its part of the body ends, or the whole unless it is a probe; nil if it is coded or not declared.
    var declaredBytes: Int?
    /// The length of the whole body, if known.
    var totalBytes: Int?
    /// Whether its part ends where the whole body does.
    var endsWithPart = true
    /// Whether the body is chunked, so that its last chunk marks the end.
    var isChunked = false
    /// Decodes a coded body.
    var decoder: ContentDecoder?
    var isCoded: Bool { decoder != nil }
    /// A coding that can't be decoded, or is unknown: the bytes are taken as they are.
    var undecoded: String?
    /// Detects the end of the image if nothing else marks it; nil for other bodies.
    var imageEnd: ImageEnd?
    /// Whether the end of the connection may mark the end of the body: only with plain TCP.
    var hasCleanEnd = true
    /// Whether a later request may resume the body if it breaks off.
    var isResumable = false
    /// Whether the whole body must be requested again.
    var mustStartOver = false
    /// Whether all wanted bytes were received, however the response ends.
    var hasEnough = false
  }

  init(index: Int, options prepared: PreparedOptions, loop: CurlLoop, shares: CurlShares) {
    self.index = index
    request = Request(prepared: prepared)
    self.loop = loop.number
    record = loop.record
    self.shares = shares
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    curl_easy_cleanup(easy)
    errorText.deallocate()
  }

  /// Prepares it for the next request of `job`: `own`, or else the template's with the job's URL.
  func begin(
    _ job: QueuedDownload,
    slot: Int,
    _ kind: RequestTemplate.Kind,
    _ own: OwnRequest?,
    defaults: [HeaderField],
    resolves: Bool,
    now: MonotonicInstant
  ) {
    self.job = slot
    run += 1
    request = Request(
      prepared: job.download.prepared,
      attempt: job.summary.attempts,
      url: own?.url ?? job.route.url,
      started: now,
      deadline: now.advanced(by: job.remaining),
      method: kind.method,
      isRanged: kind.method == .probe && !kind.isPlain,
      isConditional: own?.isConditional == true,
      hasUnknownSender: own?.hasUnknownSender == true,
      isSecond: job.accepted != nil,
      resolves: resolves,
      isCountedAsResolving: resolves,
      lastProgress: now
    )
    fields.removeAll()
    response = Response()
    body = Body(continuing: job.continuation, request)
    errorText.pointee = 0
    setOptions(kind, own, defaults: defaults)
  }

  private func setOptions(_ kind: RequestTemplate.Kind, _ own: OwnRequest?, defaults: [HeaderField]) {
    // Before 8.1, libcurl appends a folded first header line to a header of the handle's previous response, which is already freed; and it
    // counts the repetitions of requests whose connections were lost over all requests of a handle, and fails the sixth.
    curl_easy_cleanup(easy)
    easy = Self.newHandle()
    shares.attach(easy, cookies: kind.handlesCookies)
    let template = template.flatMap { $0.kind == kind ? $0 : nil } ?? RequestTemplate(kind, defaults: defaults)
    template.apply(to: self)
    self.template = template
    if let own { curl_set_list(easy, CURLOPT_HTTPHEADER, own.headers.first) }
    ownHeaders = own?.headers
    // A URL's own credentials come first.
    if kind.isOwnOrigin, let credentials = options.credentials, let own = request.url.withUnsafeBytes(credentials.credential) {
      curl_set_text(easy, CURLOPT_USERNAME, own.user)
      curl_set_text(easy, CURLOPT_PASSWORD, own.password)
    }
    setHTTPVersion(isSecure: request.url.starts(with: "https:".utf8))
    setText(CURLOPT_URL, request.url[...])
    // libcurl 7.88 writes the absolute form for a proxy (RFC 9112, section 3.2.2) without an empty query.
    if options.connection.proxy != .none {
      let isDropped = request.url.last == UInt8(ascii: "?") && request.url.starts(with: "http:".utf8)
      if isDropped { setText(CURLOPT_REQUEST_TARGET, absoluteForm) }
    }
  }

  /// The URL without its user name and password.
  private var absoluteForm: ArraySlice<UInt8> {
    guard let parts = request.url.withUnsafeBytes({ URLNormalizer.parts(ofNormalForm: $0) }) else { return request.url[...] }
    return "http://".utf8 + request.url[parts.host.lowerBound...]
  }

  private func setText(_ option: CURLoption, _ bytes: ArraySlice<UInt8>) {
    withUnsafeTemporaryAllocation(byteCount: bytes.count + 1, alignment: 1) { text in
      text.copyBytes(from: bytes)
      text[bytes.count] = 0
      _ = curl_set_text(easy, option, text.baseAddress?.assumingMemoryBound(to: CChar.self))
    }
  }

  private func setHTTPVersion(isSecure: Bool) {
    let version = options.connection.httpVersion
    let known = version == .http2 && !isSecure
    let number = version == .http1 ? CURL_HTTP_VERSION_1_1 : known ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : CURL_HTTP_VERSION_2TLS
    curl_set_long(easy, CURLOPT_HTTP_VERSION, number)
    // Requests wait for a connection that they may share until its handshake shows whether it uses HTTP/2; otherwise libcurl would wait
    // for the end of the first response. With HTTP/1.1 they would wait for each other's connections.
    curl_set_long(easy, CURLOPT_PIPEWAIT, version != .http1 && isSecure ? 1 : 0)
    let mayBeHTTP2 = version != .http1 && isSecure || known
    let buffer = mayBeHTTP2 ? Self.http2BufferBytes : request.method == .probe ? Self.probeBufferBytes : Self.bufferBytes
    curl_set_long(easy, CURLOPT_BUFFERSIZE, buffer)
    // libcurl 7.88 supports HTTP/2 by prior knowledge on new connections only: it would start it again on an old one and fail.
    for option in [CURLOPT_FRESH_CONNECT, CURLOPT_FORBID_REUSE] { curl_set_long(easy, option, known ? 1 : 0) }
  }

  private static func newHandle() -> UnsafeMutableRawPointer {
    guard let easy = curl_easy_init() else { fatalError("libcurl cannot create a handle: out of memory") }
    return easy
  }

  /// Frees it and drops the body.
  func end() {
    job = nil
    response = Response()
    body = Body()
    isObserved = false
  }

  var id: CurlReport.ID { CurlReport.ID(index: index, run: run) }

  /// The progress since the last report; nil if there is none to report.
  func takeProgress() -> CurlReport.Event? {
    // Otherwise it belongs to the scheduler.
    guard isRunning else { return nil }
    request.isNoted = false
    guard response.disposition == .kept else { return nil }
    defer { request.needsHead = false }
    let head = request.needsHead ? responseHead : nil
    return .progressed(receivedBytes: body.count, expectedBytes: response.declaredBytes, head: head)
  }

  // MARK: Called back

  /// Handles a line of a header or trailer, which libcurl keeps until the end; false stops the transfer.
  func noteHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    request.lastProgress = record.now
    response.headerBytes += line.count
    guard response.headerBytes <= Self.maximumHeaderBytes else {
      let message = "the response has more than \(Self.maximumHeaderBytes >> 10) KiB of header fields and trailers"
      response.refusal = ImageFailure(.tooLarge, status: status, message: message)
      return false
    }
    fields.add(line)
    if template?.kind.handlesCookies == true, ByteView(line).matchesIgnoringCase("set-cookie:") { record.report.cookiesSet += 1 }
    return true
  }

  // Without a copy, which would retain each part.
  var options: DownloadOptions { _read { yield request.prepared.options } }

  /// Whether the server has responded, but not by HTTP/2.
  var hasRespondedByHTTP1: Bool { request.phase == .connected && statusOnWire > 0 && !isHTTP2 }

  // MARK: The response

  /// The status of the last response; 0 if there is none.
  var status: Int { response.modifiedHead?.status ?? statusOnWire }

  /// The status as received, before a response modifier.
  var statusOnWire: Int { number(CURLINFO_RESPONSE_CODE) }

  var isRedirect: Bool {
    let status = status
    return HTTPStatus.redirects.contains(status) && !options.acceptStatus.contains(status) && fields.has(.location)
  }

  /// The request's duration, in steps of a microsecond.
  var nanosecondsByCurl: UInt64 { UInt64(max(0, amount(CURLINFO_TOTAL_TIME_T))) * 1000 }

  /// Bytes of the body, before decoding.
  var receivedBytes: UInt64 { UInt64(max(0, amount(CURLINFO_SIZE_DOWNLOAD_T))) }

  /// A number that libcurl has about the request; 0 if it has none.
  func number(_ info: CURLINFO) -> Int {
    var value = 0
    curl_get_long(easy, info, &value)
    return value
  }

  /// A size, or a time in microseconds, that libcurl has about the request.
  func amount(_ info: CURLINFO) -> Int {
    var value: curl_off_t = 0
    curl_get_offset(easy, info, &value)
    return Int(value)
  }
}

extension Transfer {
  /// Opens a socket for a connection to `target`; `CURL_SOCKET_BAD` makes libcurl try the name's next address.
  func openSocket(_ target: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
    guard let target, mayConnect(to: Self.text(of: target)) else { return CURL_SOCKET_BAD }
    let descriptor = system_socket(target.pointee.family, target.pointee.socktype, target.pointee.protocol)
    guard descriptor >= 0 else { return CURL_SOCKET_BAD }
    record.report.openedConnections += 1
    record.setUse(of: descriptor, .used)
    request.hasOpenedSocket = true
    if request.phase == .resolving { advance(to: .connecting) }
    // A connection without acknowledgements is closed with all its requests; otherwise new HTTP/2 requests would keep joining it. The limit
    // also applies to connecting, which has its own limit.
    system_limit_silence(descriptor, UInt32(clamping: max(options.stallTimeout, options.connectTimeout).wholeMilliseconds))
    return descriptor
  }

  /// Records that a connection, new or reused, is about to be used; false if it may not be.
  func noteConnected(to address: UnsafePointer<CChar>?) -> Bool {
    guard mayConnect(to: address.map { String(cString: $0) }) else { return false }
    // Otherwise, the next repetition may take another connection that is about to be closed, and so on.
    if request.phase == .connected { curl_set_long(easy, CURLOPT_FRESH_CONNECT, 1) }
    advance(to: .connected)
    request.lastProgress = record.now
    return true
  }

  private func advance(to phase: Phase) {
    request.phase = phase
    if request.resolves { record.report.events.append((id, .advanced(phase))) }
  }

  private func mayConnect(to address: @autoclosure () -> String?) -> Bool {
    if options.connection.addresses == .any { return true }
    let address = address()
    if let address, IPAddressRules.isPublic(address) { return true }
    request.refusedAddress = address ?? "an unknown address"
    return false
  }

  /// The address in numbers. libcurl's structure ends in an address that may be longer than its declared type.
  private static func text(of target: UnsafeMutablePointer<curl_sockaddr>) -> String? {
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    let address = (UnsafeRawPointer(target) + offset).assumingMemoryBound(to: sockaddr.self)
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard getnameinfo(address, target.pointee.addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
      return nil
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
