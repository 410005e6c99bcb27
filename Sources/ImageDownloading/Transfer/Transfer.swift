import CCurl
import Glibc
import ImagePrimitives

/// One request on its way: an easy handle and the body that it brings, used again for request after request.
///
/// It belongs to the transfer thread; libcurl's callbacks, which run there too, change nothing but this and the ``LoopIteration``.
final class Transfer {
  /// How far its connection is.
  enum Phase {
    case resolving, connecting, connected
  }

  /// What happens to the bytes of the body.
  enum Disposition {
    case undecided, kept, discarded
  }

  /// libcurl 7.88 bounds headers by 300 KB, but not trailers.
  private static let maximumHeaderBytes = 512 << 10

  let easy: UnsafeMutableRawPointer
  /// Its index among the loop's transfers.
  let index: Int
  /// Where libcurl writes what went wrong.
  let errorText: UnsafeMutablePointer<CChar>
  let iteration: LoopIteration
  private let shares: CurlShares
  private var template: RequestTemplate?
  /// The headers of this request, where they are not the template's.
  private var ownHeaders: CurlList?
  private var hasCredentials = false

  /// The job that it serves; nil while it is free.
  private(set) var job: Int?
  private(set) var attempt = 0
  private(set) var url: [UInt8] = []
  private var prepared: PreparedOptions
  private(set) var started = MonotonicInstant(nanoseconds: 0)
  /// When the whole attempt has taken too long.
  var deadline = MonotonicInstant(nanoseconds: 0)
  private(set) var phase = Phase.resolving
  /// Whether its host's others wait for it, or for its name.
  private(set) var resolves = false
  /// Whether it is one of the names that are being resolved.
  var isCountedAsResolving = false

  /// Whether an address was tried.
  private(set) var hasOpenedSocket = false
  /// An address that may not be connected to and was to be.
  var refusedAddress: String?

  /// Whether somebody wants to know how far it is.
  var isObserved = false
  /// Whether this turn knows that it has come further.
  var isNoted = false

  /// When the last byte came, or the connection stood.
  var lastProgress = MonotonicInstant(nanoseconds: 0)
  var disposition = Disposition.undecided
  /// How the server is asked.
  private(set) var method = DownloadOptions.Method.get
  /// Whether a 304 answers this request.
  private(set) var isConditional = false
  /// Whether it is a second request after an accepted one, of whose answer the headers tell of caches on the way.
  private(set) var isSecond = false
  /// What they tell.
  var remoteCache: RemoteCacheResponse?
  /// How much of headers and trailers has come.
  private var headerBytes = 0
  /// What the downloader itself reads of the answer's headers.
  var fields = ResponseFields()
  /// What a response modifier made of the answer's head.
  var modifiedHead: ResponseHead?
  /// Why an answer is not taken whose body may be read to its end.
  var rejection: Failure?
  /// Why it was stopped by us.
  var refusal: Failure?

  /// The body, from where the last chunk ended.
  var body: [UInt8] = []
  /// How much of the body has come, with what a probe goes on from.
  var bodyBytes = 0
  /// Where the answer's part of the body ends, which is the whole body's end but for a probe; nil where the body comes coded or
  /// the server did not tell.
  var declaredBytes: Int?
  /// A body that is not kept is read this far.
  var drainLimit = 0
  var isStreamed = false
  var hasHandedOver = false
  /// When the body's beginning is judged.
  var plan = PrefixPlan(isJudged: false)
  /// What the request goes on from; nil where the answer begins anew.
  var continuation: BodyContinuation?
  /// What the next bytes have to be if they are of the same version as those of ``continuation``.
  var expectedSeam: ArraySlice<UInt8> = []
  /// The last bytes of the body before ``body``, as many as a further request may need.
  var handedOverTail: [UInt8] = []
  /// The length of the whole body, as far as it is told.
  var totalBytes: Int?
  /// Whether the whole body ends with the answer's part of it.
  var endsWithPart = true
  /// Whether the body comes in chunks, the last of which ends it.
  var isChunked = false
  /// Whether the body comes coded.
  var isCoded = false
  /// Undoes its codings, if it is kept.
  var decoder: ContentDecoder?
  /// Follows the image to its end, if nothing else shows that; nil for other bodies.
  var imageEnd: ImageEnd?
  /// Whether a connection's end may be a sign that the body is whole: it is with plain TCP alone.
  var hasCleanEnd = true
  /// Whether a later request may go on from where the body breaks off.
  var isResumable = false
  /// Whether the request has to be made again for the whole body.
  var mustStartOver = false
  /// Whether what came is all that is wanted, however the answer ends.
  var hasEnough = false

  init(index: Int, options prepared: PreparedOptions, iteration: LoopIteration, shares: CurlShares) {
    guard let easy = curl_easy_init() else { fatalError("libcurl could not make a handle: out of memory") }
    self.easy = easy
    self.index = index
    self.prepared = prepared
    self.iteration = iteration
    self.shares = shares
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    curl_easy_cleanup(easy)
    errorText.deallocate()
  }

  /// Makes it ready for the next request of `job`: `own`, or else the template's with the job's URL.
  func begin(
    _ job: PendingTransfer,
    slot: Int,
    _ kind: RequestTemplate.Kind,
    _ own: OwnRequest?,
    defaults: [HeaderField],
    resolves: Bool
  ) {
    self.job = slot
    attempt = job.summary.attempts
    url = own?.url ?? job.url
    prepared = job.download.prepared
    started = iteration.now
    deadline = iteration.now.advanced(by: job.remaining)
    phase = .resolving
    hasOpenedSocket = false
    refusedAddress = nil
    self.resolves = resolves
    isCountedAsResolving = resolves
    lastProgress = iteration.now
    disposition = .undecided
    method = kind.method
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
    if let template, template.kind == kind {
      if let own {
        curl_set_list(easy, CURLOPT_HTTPHEADER, own.headers.first)
      } else if ownHeaders != nil {
        curl_set_list(easy, CURLOPT_HTTPHEADER, template.headers.first)
      }
    } else {
      let template = RequestTemplate(kind, defaults: defaults)
      shares.attach(easy, cookies: kind.handlesCookies)
      template.apply(to: self)
      hasCredentials = false
      if let own { curl_set_list(easy, CURLOPT_HTTPHEADER, own.headers.first) }
      self.template = template
    }
    ownHeaders = own?.headers
    setCredentials(kind.isOwnOrigin ? options.credentials : nil)
    setHTTPVersion(isSecure: url.starts(with: "https:".utf8))
    withUnsafeTemporaryAllocation(byteCount: url.count + 1, alignment: 1) { text in
      text.copyBytes(from: url)
      text[url.count] = 0
      _ = curl_set_text(easy, CURLOPT_URL, text.baseAddress?.assumingMemoryBound(to: CChar.self))
    }
  }

  private func setHTTPVersion(isSecure: Bool) {
    let version = options.connection.httpVersion
    let known = version == .http2 && !isSecure
    let number = version == .http1 ? CURL_HTTP_VERSION_1_1 : known ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : CURL_HTTP_VERSION_2TLS
    curl_set_long(easy, CURLOPT_HTTP_VERSION, number)
    // Requests wait for a connection that they may share, where its handshake tells that; else libcurl would wait for the end of
    // the first answer. Without HTTP/2 they would wait for each other's connections.
    curl_set_long(easy, CURLOPT_PIPEWAIT, version != .http1 && isSecure ? 1 : 0)
    // libcurl 7.88 speaks HTTP/2 by prior knowledge on new connections alone: on one that does already it begins once more, and
    // nothing comes of it.
    for option in [CURLOPT_FRESH_CONNECT, CURLOPT_FORBID_REUSE] { curl_set_long(easy, option, known ? 1 : 0) }
  }

  /// Sends these credentials, unless the URL has its own.
  private func setCredentials(_ credentials: Credentials?) {
    let credential = credentials.flatMap { URLOrigin.credential(from: $0, for: url) }
    guard credential != nil || hasCredentials else { return }
    curl_set_text(easy, CURLOPT_USERNAME, credential?.user)
    curl_set_text(easy, CURLOPT_PASSWORD, credential?.password)
    hasCredentials = credential != nil
  }

  /// Makes it free, without the body.
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

  // MARK: Called back

  func noteOpenedSocket() {
    iteration.openedConnections += 1
    hasOpenedSocket = true
    guard phase == .resolving else { return }
    phase = .connecting
    if resolves { iteration.advanced.append(index) }
  }

  func noteConnected() {
    phase = .connected
    lastProgress = iteration.now
    if resolves { iteration.advanced.append(index) }
  }

  /// Takes a line of a header or of trailers, which libcurl keeps to the end; false stops the transfer.
  func noteHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    lastProgress = iteration.now
    headerBytes += line.count
    guard headerBytes <= Self.maximumHeaderBytes else {
      let message = "the answer has more than \(Self.maximumHeaderBytes >> 10) KiB of header fields and trailers"
      refusal = Failure(.tooLarge, status: status, message: message)
      return false
    }
    fields.add(line)
    if template?.kind.handlesCookies == true, ByteView(line).matchesIgnoringCase("set-cookie:") { iteration.cookiesSet += 1 }
    return true
  }

  var options: DownloadOptions { prepared.options }

  // MARK: The answer

  /// The status of the last answer; 0 where none came.
  var status: Int {
    modifiedHead?.status ?? statusOnWire
  }

  /// The same, whatever a response modifier has made of it.
  var statusOnWire: Int {
    var status = 0
    curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
    return status
  }

  /// Whether the answer leads elsewhere.
  var isRedirect: Bool {
    let status = status
    return HTTPStatus.redirects.contains(status) && !options.acceptStatus.contains(status) && fields.has(.location)
  }

  /// How long the request has taken, to the microsecond.
  var nanosecondsByCurl: UInt64 {
    var microseconds: curl_off_t = 0
    curl_get_offset(easy, CURLINFO_TOTAL_TIME_T, &microseconds)
    return UInt64(max(0, microseconds)) * 1000
  }

  /// Bytes of the body as they came over the wire.
  var receivedBytes: UInt64 {
    var count: curl_off_t = 0
    curl_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T, &count)
    return UInt64(max(0, count))
  }
}

/// Whom a transfer may connect to.
extension Transfer {
  /// Opens a socket for a connection to `target`; `CURL_SOCKET_BAD` has libcurl try the name's next address.
  func openSocket(_ target: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
    guard let target, mayConnect(to: address(of: target)) else { return CURL_SOCKET_BAD }
    let type = target.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(target.pointee.family, type, target.pointee.protocol)
    guard descriptor >= 0 else { return CURL_SOCKET_BAD }
    noteOpenedSocket()
    // A connection that nobody acknowledges is given up with all its requests; with HTTP/2 new ones would go on to join it. It counts
    // for connecting too, which has a limit of its own.
    var milliseconds = UInt32(clamping: max(options.stallTimeout, options.connectTimeout).wholeMilliseconds)
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, socklen_t(MemoryLayout<UInt32>.size))
    return descriptor
  }

  /// Takes note that a connection, which need not be a new one, is about to be used; false where it may not be.
  func noteConnected(to address: UnsafePointer<CChar>?) -> Bool {
    let text = address.map { String(cString: $0) } ?? ""
    guard options.connection.addresses == .any || mayConnect(to: IPAddressRules.Address(text), written: text) else {
      return false
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

  /// Nil where any will do. libcurl's structure ends in an address that may be longer than its declared one.
  private func address(of target: UnsafeMutablePointer<curl_sockaddr>) -> IPAddressRules.Address? {
    guard options.connection.addresses != .any, let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    return IPAddressRules.Address(
      UnsafeRawBufferPointer(start: UnsafeRawPointer(target) + offset, count: Int(target.pointee.addrlen))
    )
  }
}
