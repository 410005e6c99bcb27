import CCurl
import Base

/// Handling of a response's head: whether its body is wanted, and how much of it is to come.
extension Transfer {
  /// Handles the response's head, at the first byte of its body or at its end.
  func decide() {
    guard response.disposition == .undecided else { return }
    response.disposition = .discarded
    if options.connection.httpVersion == .http2, !isHTTP2 {
      response.refusal = ImageFailure(.connect, message: "\(server.address) doesn't support HTTP/2, which the options require")
      return
    }
    // From the response as received: changes by a modifier are for the consumer of the image.
    let length = contentLength
    let codings = fields.codings
    response.undecoded = codings.first { !ContentDecoder.decodes($0) }
    response.decoder = ContentDecoder(codings)
    response.isChunked = fields.isChunked
    let part =
      request.isRanged || body.continuation != nil ? ResponsePart(status: statusOnWire, fields, after: body.continuation) : .whole
    // Modifiers don't see redirects.
    if isRedirect { return }
    if request.isSecond { return readRemoteCache(part, contentLength: length) }
    if request.method == .get, body.continuation != nil, isUseless(part) {
      response.mustStartOver = true
      return
    }
    response.isResumable = request.method == .get && !response.isCoded && acceptsRanges(after: part)
    // Browsers reject it, since the body may end at either.
    let hasConflictingLengths = fields.hasConflictingLengths
    do throws(ImageFailure) {
      try modifyHead()
      guard try accepts(part) else { return }
      if hasConflictingLengths { throw invalidResponse("the Content-Length headers differ") }
      proceed(with: part)
      try options.checkContentType(fields.last(.contentType), status: status)
    } catch {
      response.rejection = error
      return
    }
    response.disposition = .kept
    expect(part, contentLength: length)
  }

  /// Reads the head of a second response. A small body is read too, so that the connection can be reused; a larger one is cut off.
  private func readRemoteCache(_ part: ResponsePart, contentLength: Int?) {
    do throws(ImageFailure) {
      guard try accepts(part) || response.hasEnough else { return }
    } catch {
      response.rejection = error
      return
    }
    response.remoteCache = RemoteCacheResponse(fields)
    if contentLength ?? 0 > Self.drainedBytes { body.drainLimit = 0 }
    request.deadline = min(request.deadline, record.now.advanced(by: Self.drainTime))
    record.nextTimeLimit = min(record.nextTimeLimit, request.deadline)
  }

  /// Whether the response to a request that resumes a body can't be used.
  private func isUseless(_ part: ResponsePart) -> Bool {
    switch part {
    case .mismatch, .end: true
    case .part: false
    // Only a request for the whole body shows whether it is gone.
    case .whole: !options.acceptStatus.contains(statusOnWire) && !HTTPStatus.isTransient(statusOnWire)
    }
  }

  /// Uses the part's own headers, and else those of the response that it continues (RFC 9110, section 15.3.7).
  private func proceed(with part: ResponsePart) {
    guard case .part = part else { return startOver() }
    guard let continuation = body.continuation else { return }
    body.expectedSeam = continuation.seam[...]
    fields.inherit([.contentType, .etag, .lastModified, .vary, .acceptRanges], from: continuation.fields)
    // The body has a copy.
    if !continuation.leavesGap { continuation.releasePrefix() }
  }

  /// Whether ranges of the body can be requested: the server sent the requested one, or the whole body and says so (RFC 9110, sections
  /// 14.2 and 14.3). A 206 to a `Range` of the caller doesn't count: its offset is unknown.
  private func acceptsRanges(after part: ResponsePart) -> Bool {
    switch part {
    case .part: true
    case .whole: statusOnWire == 200 && fields.last(.acceptRanges)?.lowercased() == "bytes"
    case .mismatch, .end: false
    }
  }

  private func modifyHead() throws(ImageFailure) {
    guard let modifier = options.responseModifier, let head = responseHead else { return }
    response.modifiedHead = modifier.hook.call(head)
    guard let modifiedHead = response.modifiedHead else {
      throw ImageFailure(.contentType, status: status, message: "the response modifier \(modifier.name) rejected the response")
    }
    fields = ResponseFields(modifiedHead.headers)
  }

  /// Whether the response has wanted bytes.
  private func accepts(_ part: ResponsePart) throws(ImageFailure) -> Bool {
    switch part {
    case .whole: return options.acceptStatus.contains(status)
    case .part:
      return options.acceptStatus.contains(status) || status == 206 && options.acceptStatus.contains(200)
        || request.method == .get && body.continuation != nil
    case .mismatch(let failure): throw failure
    case .end(let total):
      response.hasEnough = status == 416 || options.acceptStatus.contains(status)
      response.totalBytes = total
      return false
    }
  }

  /// Records how many bytes are to come, and rejects too many.
  private func expect(_ part: ResponsePart, contentLength: Int?) {
    var end = contentLength
    var total = contentLength
    if case .part(let bytes, let declared) = part {
      let whole = declared ?? (request.method == .get ? body.continuation?.totalBytes : nil)
      (end, total) = (bytes.upperBound, whole)
      response.endsWithPart = bytes.upperBound == whole
    }
    if let total, total > options.maxBytes {
      response.refusal = .tooLarge(limit: options.maxBytes, declared: total, status: status)
    }
    guard !response.isCoded else { return }
    response.declaredBytes = end
    response.totalBytes = total
    if request.method == .head { return }
    // At most a chunk: a server's declared length isn't trusted.
    let most = request.method == .probe ? min(body.plan.next ?? 0, PrefixPlan.maximumBytes) : reservedBytes
    body.bytes.reserveCapacity(min(end ?? 0, most))
    guard needsImageEnd else { return }
    response.hasCleanEnd = !isHTTP2 && !request.url.starts(with: "https:".utf8)
    if options.decryptor == nil { response.imageEnd = ImageEnd() }
  }

  /// Whether the response comes in frames, of which the last may be missing.
  var isHTTP2: Bool { number(CURLINFO_HTTP_VERSION) == CURL_HTTP_VERSION_2_0 }

  /// The Content-Length, coded or not; nil if it isn't declared.
  var contentLength: Int? {
    let length = amount(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    return length < 0 ? nil : length
  }
}

/// Details that libcurl has about a transfer, read only if requested.
extension Transfer {
  /// The status and all headers of the last response; nil if there is none.
  var responseHead: ResponseHead? {
    let status = status
    guard status > 0 else { return nil }
    if let modifiedHead = response.modifiedHead { return modifiedHead }
    var head = ResponseHead(status: status)
    var last: UnsafeMutablePointer<curl_header>?
    while let header = curl_easy_nextheader(easy, UInt32(CURLH_HEADER), -1, last) {
      head.headers.append(HeaderField(String(cString: header.pointee.name), String(cString: header.pointee.value)))
      last = header
    }
    return head
  }

  func metrics(redirects: Int) -> TransferMetrics {
    var metrics = TransferMetrics()
    let (nameLookup, connect) = (time(CURLINFO_NAMELOOKUP_TIME_T), time(CURLINFO_CONNECT_TIME_T))
    let handshake = time(CURLINFO_APPCONNECT_TIME_T)
    metrics.nameLookup = nameLookup
    metrics.connect = max(.zero, connect - nameLookup)
    metrics.tls = handshake > .zero ? handshake - connect : .zero
    metrics.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
    metrics.total = time(CURLINFO_TOTAL_TIME_T)
    metrics.receivedBytes = receivedBytes
    metrics.redirects = redirects
    metrics.protocolName = protocolName
    metrics.reusedConnection = request.phase == .connected && number(CURLINFO_NUM_CONNECTS) == 0
    var address: UnsafeMutablePointer<CChar>?
    curl_get_text(easy, CURLINFO_PRIMARY_IP, &address)
    if let address, address.pointee != 0 {
      metrics.remoteAddress = String(cString: address)
      metrics.remotePort = number(CURLINFO_PRIMARY_PORT)
    }
    return metrics
  }

  /// When the server's certificate expires, if this transfer made the connection.
  var certificateEnd: Timestamp? {
    var end: curl_off_t = -1
    guard curl_get_certificate_end(easy, &end) == CURLE_OK, end >= 0 else { return nil }
    return Timestamp(milliseconds: Int64(end) * 1000)
  }

  private var protocolName: String? {
    switch number(CURLINFO_HTTP_VERSION) {
    case CURL_HTTP_VERSION_1_0: "HTTP/1.0"
    case CURL_HTTP_VERSION_1_1: "HTTP/1.1"
    case CURL_HTTP_VERSION_2_0: "HTTP/2"
    case CURL_HTTP_VERSION_3: "HTTP/3"
    default: nil
    }
  }

  private func time(_ info: CURLINFO) -> Duration { .microseconds(Int64(amount(info))) }
}
