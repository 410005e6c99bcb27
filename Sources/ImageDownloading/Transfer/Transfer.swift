import CCurl
import Platform
import Base

/// A running request: an easy handle and the body that it receives; reused, except for the handle, for one request after another.
///
/// While it is running it belongs to its engine, whose callbacks change only this and the ``TransferRecord``; otherwise it belongs to the
/// loop.
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
  /// Its index among the loop's transfers.
  let index: Int
  /// libcurl writes error descriptions here.
  let errorText: UnsafeMutablePointer<CChar>
  let record: TransferRecord
  /// The number of its engine.
  let engine: Int
  private let shares: CurlShares
  private var template: RequestTemplate?
  /// The headers of this request, if they aren't the template's.
  private var ownHeaders: CurlList?

  /// The job that it serves; nil while it is free.
  private(set) var job: Int?
  /// Counts its requests.
  private(set) var run: UInt64 = 0
  /// Whether it is in libcurl, and whether its engine knows it.
  var isRunning = false
  var isListed = false
  private(set) var attempt = 0
  private(set) var url: [UInt8] = []
  private var prepared: PreparedOptions
  private(set) var started = MonotonicInstant(nanoseconds: 0)
  /// The time limit of the whole attempt.
  var deadline = MonotonicInstant(nanoseconds: 0)
  private(set) var phase = Phase.resolving
  /// Whether its host's other transfers wait for it, or for its name.
  private(set) var resolves = false
  /// Whether it counts as a name that is being resolved.
  var isCountedAsResolving = false

  /// Whether an address was tried.
  private(set) var hasOpenedSocket = false
  /// An address that it was about to connect to but may not.
  var refusedAddress: String?

  /// Whether its progress is reported.
  var isObserved = false
  /// Whether its progress is already noted in this iteration.
  var isNoted = false
  /// Whether the next report of progress needs the response's head.
  var needsHead = false

  /// The time of the last byte, or of the connection.
  var lastProgress = MonotonicInstant(nanoseconds: 0)
  var disposition = Disposition.undecided
  /// The method of the request on the wire.
  private(set) var method = DownloadOptions.Method.get
  /// Whether it is a probe that asks for a range.
  private(set) var isRanged = false
  /// Whether a 304 is a valid response.
  private(set) var isConditional = false
  /// Whether it is the second request after an accepted one, for the status of caches on the way.
  private(set) var isSecond = false
  /// That status.
  var remoteCache: RemoteCacheResponse?
  /// The size of the headers and trailers received.
  private var headerBytes = 0
  /// The response's headers that the downloader reads.
  var fields = ResponseFields()
  /// The response's head after a response modifier.
  var modifiedHead: ResponseHead?
  /// Why a response is rejected; its body may still be read to its end.
  var rejection: ImageFailure?
  /// Why we stopped the transfer.
  var refusal: ImageFailure?

  /// The body since the last chunk.
  var body: [UInt8] = []
  /// The number of bytes of the body received, including a continuation's.
  var bodyBytes = 0
  /// The offset at which the response's part of the body ends, which is the whole body's end except for a probe; nil if the body is coded
  /// or the length isn't declared.
  var declaredBytes: Int?
  /// A discarded body is read up to this offset.
  var drainLimit = 0
  var isStreamed = false
  var hasHandedOver = false
  /// When the body's beginning is judged.
  var plan = PrefixPlan(isJudged: false)
  /// The part of the body that the request resumes; nil if the response starts over.
  var continuation: BodyContinuation?
  /// The bytes that must come next if the version is that of ``continuation``.
  var expectedSeam: ArraySlice<UInt8> = []
  /// The last bytes of the body before ``body``, as many as a further request may repeat.
  var handedOverTail: [UInt8] = []
  /// The length of the whole body, if known.
  var totalBytes: Int?
  /// Whether the response's part ends where the whole body does.
  var endsWithPart = true
  /// Whether the body is chunked, so that its last chunk marks the end.
  var isChunked = false
  /// Whether the body is coded.
  var isCoded = false
  /// Decodes a kept body.
  var decoder: ContentDecoder?
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

  init(index: Int, options prepared: PreparedOptions, engine: TransferEngine, shares: CurlShares) {
    self.index = index
    self.prepared = prepared
    self.engine = engine.number
    record = engine.record
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
    _ job: PendingTransfer,
    slot: Int,
    _ kind: RequestTemplate.Kind,
    _ own: OwnRequest?,
    defaults: [HeaderField],
    resolves: Bool,
    now: MonotonicInstant
  ) {
    self.job = slot
    run += 1
    attempt = job.summary.attempts
    url = own?.url ?? job.url
    prepared = job.download.prepared
    started = now
    deadline = now.advanced(by: job.remaining)
    phase = .resolving
    hasOpenedSocket = false
    refusedAddress = nil
    self.resolves = resolves
    isCountedAsResolving = resolves
    lastProgress = now
    isNoted = false
    needsHead = true
    disposition = .undecided
    method = kind.method
    isRanged = kind.method == .probe && !kind.isPlain
    isConditional = own?.isConditional == true
    isSecond = job.accepted != nil
    remoteCache = nil
    headerBytes = 0
    fields.removeAll()
    modifiedHead = nil
    rejection = nil
    refusal = nil
    beginBody(continuation: job.continuation)
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
    setCredentials(kind.isOwnOrigin ? options.credentials : nil)
    setHTTPVersion(isSecure: url.starts(with: "https:".utf8))
    setText(CURLOPT_URL, url[...])
    // libcurl 7.88 writes the absolute form for a proxy (RFC 9112, section 3.2.2) without an empty query.
    if options.connection.proxy != .none {
      let isDropped = url.last == UInt8(ascii: "?") && url.starts(with: "http:".utf8)
      if isDropped { setText(CURLOPT_REQUEST_TARGET, absoluteForm) }
    }
  }

  /// The URL without its user name and password.
  private var absoluteForm: ArraySlice<UInt8> {
    guard let parts = url.withUnsafeBytes({ URLNormalizer.parts(ofNormalForm: $0) }) else { return url[...] }
    return "http://".utf8 + url[parts.host.lowerBound...]
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
    let buffer = mayBeHTTP2 ? Self.http2BufferBytes : method == .probe ? Self.probeBufferBytes : Self.bufferBytes
    curl_set_long(easy, CURLOPT_BUFFERSIZE, buffer)
    // libcurl 7.88 supports HTTP/2 by prior knowledge on new connections only: on an existing HTTP/2 connection it would start the protocol
    // again and fail.
    for option in [CURLOPT_FRESH_CONNECT, CURLOPT_FORBID_REUSE] { curl_set_long(easy, option, known ? 1 : 0) }
  }

  /// Sends these credentials unless the URL has its own.
  private func setCredentials(_ credentials: Credentials?) {
    guard let credential = credentials.flatMap({ URLOrigin.credential(from: $0, for: url) }) else { return }
    curl_set_text(easy, CURLOPT_USERNAME, credential.user)
    curl_set_text(easy, CURLOPT_PASSWORD, credential.password)
  }

  private static func newHandle() -> UnsafeMutableRawPointer {
    guard let easy = curl_easy_init() else { fatalError("libcurl cannot create a handle: out of memory") }
    return easy
  }

  /// Frees it and drops the body.
  func end() {
    job = nil
    body = []
    continuation = nil
    decoder = nil
    imageEnd = nil
    expectedSeam = []
    handedOverTail = []
    isObserved = false
  }

  var request: TransferRecord.Request { TransferRecord.Request(index: index, run: run) }

  /// The progress since the last report; nil if there is none to report.
  func takeProgress() -> TransferRecord.Progress? {
    // Otherwise it belongs to the loop.
    guard isRunning else { return nil }
    isNoted = false
    guard disposition == .kept else { return nil }
    defer { needsHead = false }
    return TransferRecord.Progress(
      request: request,
      receivedBytes: bodyBytes,
      expectedBytes: declaredBytes,
      head: needsHead ? responseHead : nil
    )
  }

  // MARK: Called back

  func noteOpenedSocket() {
    record.openedConnections += 1
    hasOpenedSocket = true
    guard phase == .resolving else { return }
    phase = .connecting
    if resolves { record.advanced.append(TransferRecord.Advance(request: request, phase: phase)) }
  }

  func noteConnected() {
    // Otherwise, the next repetition may take another connection that is about to be closed, and so on.
    if phase == .connected { curl_set_long(easy, CURLOPT_FRESH_CONNECT, 1) }
    phase = .connected
    lastProgress = record.now
    if resolves { record.advanced.append(TransferRecord.Advance(request: request, phase: phase)) }
  }

  /// Handles a line of a header or trailer, which libcurl keeps until the end; false stops the transfer.
  func noteHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    lastProgress = record.now
    headerBytes += line.count
    guard headerBytes <= Self.maximumHeaderBytes else {
      let message = "the response has more than \(Self.maximumHeaderBytes >> 10) KiB of header fields and trailers"
      refusal = ImageFailure(.tooLarge, status: status, message: message)
      return false
    }
    fields.add(line)
    if template?.kind.handlesCookies == true, ByteView(line).matchesIgnoringCase("set-cookie:") { record.cookiesSet += 1 }
    return true
  }

  // Without a copy, which would retain each part.
  var options: DownloadOptions { _read { yield prepared.options } }

  /// Whether the server has responded, but not by HTTP/2.
  var hasRespondedByHTTP1: Bool { phase == .connected && statusOnWire > 0 && !isHTTP2 }

  // MARK: The response

  /// The status of the last response; 0 if there is none.
  var status: Int {
    modifiedHead?.status ?? statusOnWire
  }

  /// The status as received, before a response modifier.
  var statusOnWire: Int {
    var status = 0
    curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
    return status
  }

  /// Whether the response is a redirect to follow.
  var isRedirect: Bool {
    let status = status
    return HTTPStatus.redirects.contains(status) && !options.acceptStatus.contains(status) && fields.has(.location)
  }

  /// The request's duration, in steps of a microsecond.
  var nanosecondsByCurl: UInt64 {
    var microseconds: curl_off_t = 0
    curl_get_offset(easy, CURLINFO_TOTAL_TIME_T, &microseconds)
    return UInt64(max(0, microseconds)) * 1000
  }

  /// Bytes of the body, before decoding.
  var receivedBytes: UInt64 {
    var count: curl_off_t = 0
    curl_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T, &count)
    return UInt64(max(0, count))
  }
}

/// Limits on addresses.
extension Transfer {
  /// Opens a socket for a connection to `target`; `CURL_SOCKET_BAD` makes libcurl try the name's next address.
  func openSocket(_ target: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
    guard let target, mayConnect(to: address(of: target)) else { return CURL_SOCKET_BAD }
    let descriptor = system_socket(target.pointee.family, target.pointee.socktype, target.pointee.protocol)
    guard descriptor >= 0 else { return CURL_SOCKET_BAD }
    noteOpenedSocket()
    // A connection without acknowledgements is closed with all its requests; otherwise new HTTP/2 requests would keep joining it. The limit
    // also applies to connecting, which has its own limit.
    system_limit_silence(descriptor, UInt32(clamping: max(options.stallTimeout, options.connectTimeout).wholeMilliseconds))
    return descriptor
  }

  /// Records that a connection, new or reused, is about to be used; false if it may not be.
  func noteConnected(to address: UnsafePointer<CChar>?) -> Bool {
    if options.connection.addresses != .any {
      let text = address.map { String(cString: $0) } ?? ""
      guard mayConnect(to: IPAddressRules.Address(text), written: text) else { return false }
    }
    noteConnected()
    return true
  }

  private func mayConnect(to address: IPAddressRules.Address?, written: String = "an unknown address") -> Bool {
    if options.connection.addresses == .any { return true }
    if let address, IPAddressRules.isPublic(address) { return true }
    refusedAddress = address?.description ?? written
    return false
  }

  /// Nil if any address is allowed. libcurl's structure ends in an address that may be longer than its declared type.
  private func address(of target: UnsafeMutablePointer<curl_sockaddr>) -> IPAddressRules.Address? {
    guard options.connection.addresses != .any, let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    return IPAddressRules.Address(
      UnsafeRawBufferPointer(start: UnsafeRawPointer(target) + offset, count: Int(target.pointee.addrlen))
    )
  }
}
