import CCurl
import Base

/// Handling of body bytes.
extension Transfer {
  /// The maximum size of an unwanted body, or rest of one, that is read to its end to keep its connection.
  static let drainedBytes = 64 << 10

  /// Prepares for the body of the next response, which may continue `continuation`.
  func beginBody(continuation: BodyContinuation?) {
    self.continuation = continuation
    body = continuation?.leavesGap == true ? [] : continuation?.prefix ?? []
    bodyBytes = continuation?.start ?? 0
    declaredBytes = nil
    drainLimit = bodyBytes + Self.drainedBytes
    hasHandedOver = continuation?.hasHandedOver == true
    isStreamed = hasHandedOver
    isChunked = false
    isCoded = false
    decoder = nil
    undecoded = nil
    imageEnd = nil
    hasCleanEnd = true
    expectedSeam = []
    handedOverTail = continuation.map { Array($0.seam.dropLast($0.prefix.count)) } ?? []
    isResumable = false
    mustStartOver = false
    totalBytes = nil
    endsWithPart = true
    hasEnough = false
    if method == .probe {
      plan = PrefixPlan(probing: continuation)
    } else {
      plan = PrefixPlan(isJudged: options.prefixJudge != nil && options.decryptor == nil && !hasHandedOver)
    }
  }

  /// Drops the continuation, since the response starts over.
  func startOver() {
    guard continuation != nil else { return }
    if hasHandedOver { record.streamed.append(.restart(request)) }
    continuation = nil
    handedOverTail = []
    body = []
    bodyBytes = 0
    drainLimit = Self.drainedBytes
    hasHandedOver = false
    isStreamed = false
    plan =
      method == .probe
      ? PrefixPlan(probing: nil) : PrefixPlan(isJudged: options.prefixJudge != nil && options.decryptor == nil)
  }

  /// Reserves memory for the body, but at most a chunk: a server's declared length isn't trusted.
  func reserve() {
    let most = method == .probe ? min(plan.next ?? 0, PrefixPlan.maximumBytes) : reservedBytes
    body.reserveCapacity(min(declaredBytes ?? 0, most))
  }

  /// Handles bytes of the body; false stops the transfer.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    lastProgress = record.now
    if disposition == .undecided { decide() }
    guard disposition == .kept else {
      bodyBytes += bytes.count
      return bodyBytes <= drainLimit
    }
    guard refusal == nil else { return false }
    if isObserved, !isNoted {
      isNoted = true
      record.note(self)
    }
    guard let decoder else { return take(bytes) }
    if decoder.decode(bytes, take) {
      // Bytes after the end of a stream add nothing to the body.
      guard decoder.codedBytes > options.maxBytes else { return true }
      refusal = .tooLarge(limit: options.maxBytes, status: status)
      return false
    }
    if let error = decoder.error { refusal = .coding(error, status: status) }
    return false
  }

  /// Handles decoded bytes; false stops the transfer.
  private func take(_ bytes: UnsafeRawBufferPointer) -> Bool { method == .probe ? receivePrefix(bytes) : receiveWhole(bytes) }

  private func receiveWhole(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var bytes = bytes
    if !expectedSeam.isEmpty {
      let overlap = bytes.prefix(expectedSeam.count)
      guard overlap.elementsEqual(expectedSeam.prefix(overlap.count)) else {
        mustStartOver = true
        return false
      }
      expectedSeam = expectedSeam.dropFirst(overlap.count)
      bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(overlap.count))
      if bytes.isEmpty { return true }
    }
    if continuation != nil, let declaredBytes, bytes.count > declaredBytes - bodyBytes {
      refusal = .otherRange
      return false
    }
    guard append(bytes[...]) else { return false }
    if let next = plan.next, bodyBytes >= next, bodyBytes != declaredBytes, !isStillWanted() { return endEarly() }
    if bodyBytes > options.streamAbove, options.decryptor == nil { isStreamed = true }
    if isStreamed, body.count >= options.chunkBytes { handOver() }
    return true
  }

  /// Appends to the body; false if it is too large.
  func append(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
    bodyBytes += bytes.count
    guard bodyBytes <= options.maxBytes else {
      refusal = .tooLarge(limit: options.maxBytes, status: status)
      return false
    }
    imageEnd?.add(UnsafeRawBufferPointer(rebasing: bytes))
    body.append(contentsOf: bytes)
    return true
  }

  /// Judges the beginning of a body that is requested whole.
  private func isStillWanted() -> Bool {
    switch judgement(isComplete: false) {
    case .accepted: plan.settle()
    case .needsMore(let minimum, _): plan.extend(to: minimum, having: bodyBytes)
    case .refused: return false
    }
    return true
  }

  /// Hands over the received bytes as a chunk.
  func handOver() {
    let isLast = bodyBytes == declaredBytes
    if isResumable, !isLast { handedOverTail = lastBytes(BodyContinuation.seamBytes) }
    record.streamed.append(.chunk(request, attempt: attempt, bytes: takeBody()))
    hasHandedOver = true
    // The beginning is no longer available.
    plan.settle()
    if !isLast { body.reserveCapacity(min(reservedBytes, (declaredBytes ?? .max) - bodyBytes)) }
  }

  /// The maximum size of a chunk: the last bytes that complete it, at most CURL_MAX_WRITE_SIZE, may exceed it.
  private var reservedBytes: Int { options.chunkBytes + Int(CURL_MAX_WRITE_SIZE) }

  /// The last `count` bytes received.
  private func lastBytes(_ count: Int) -> [UInt8] {
    body.count >= count ? body.suffix(count) : (handedOverTail + body).suffix(count)
  }

  /// Removes and returns the body, or the remaining bytes of a streamed one.
  func takeBody() -> [UInt8] {
    defer { body = [] }
    return body
  }
}

/// Bodies that are judged by their beginning, or requested as a prefix.
extension Transfer {
  /// How long reading the rest of a judged body may take.
  static let drainTime = Duration.milliseconds(250)

  /// The judgement of the received bytes; a refusal is permanent.
  func judgement(isComplete: Bool) -> PrefixVerdict {
    guard let judge = options.prefixJudge, !body.isEmpty else { return .accepted }
    var head = PrefixHead(contentType: fields.last(.contentType), totalBytes: totalBytes, isComplete: isComplete)
    head.hasGaps = hasGaps
    head.undecoded = undecoded
    let outcome =
      hasGaps ? probedFile().withBytes { judge.judge($0, head) } : body.withUnsafeBytes { judge.judge($0, head) }
    guard case .refused(var failure) = outcome else { return outcome }
    failure.isTransient = false
    refusal = failure
    return .refused(failure)
  }

  /// Handles bytes of a probe's response, which may be more than requested; false stops the transfer.
  func receivePrefix(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if let declaredBytes, bytes.count > declaredBytes - bodyBytes {
      refusal = .otherRange
      return false
    }
    var rest = bytes[...]
    while let next = plan.next {
      let part = rest.prefix(next - bodyBytes)
      rest = rest.dropFirst(part.count)
      guard append(part) else { return false }
      guard bodyBytes == next, !rest.isEmpty || bodyBytes < declaredBytes ?? 0 else { return true }
      switch judgement(isComplete: false) {
      case .accepted: plan.settle()
      case .needsMore(let minimum, _): plan.extend(to: minimum, having: bodyBytes)
      case .refused:
        bodyBytes += rest.count
        return endEarly()
      }
    }
    hasEnough = true
    bodyBytes += rest.count
    return endEarly()
  }

  /// Ends a judged transfer: at once, which closes its connection, or after the rest of the body if that is small.
  func endEarly() -> Bool {
    disposition = .discarded
    guard let declaredBytes, declaredBytes - bodyBytes <= Self.drainedBytes else { return false }
    drainLimit = declaredBytes
    deadline = min(deadline, record.now.advanced(by: Self.drainTime))
    record.nextTimeLimit = min(record.nextTimeLimit, deadline)
    return true
  }

  /// The outcome of a probe whose response has ended.
  func endOfProbe(_ time: TimeSource) -> TransferOutcome {
    if endsWithPart { totalBytes = bodyBytes }
    let isWhole = endsWithPart && !hasGaps
    switch judgement(isComplete: isWhole) {
    case .accepted: break
    case .refused(let failure): return .failure(failure)
    case .needsMore(let minimum, let start):
      if !isWhole, let next = nextPart(to: minimum, from: start) { return .needsMore(next) }
    }
    return .response(prefix(time))
  }

  /// The request for the bytes up to `minimum`, without those before `start`, or for all that is missing if the judge needs all or has
  /// made many requests; nil if there can't be another.
  private func nextPart(to minimum: Int, from start: Int?) -> BodyContinuation? {
    let requests = 1 + (continuation?.requests ?? 0)
    // A later part of a coded body can't be decoded.
    guard declaredBytes != nil, requests <= PrefixPlan.maximumRequests else { return nil }
    var file = probedFile()
    let position = max(bodyBytes, start ?? 0)
    let range: Range<Int>
    if requests == PrefixPlan.maximumRequests || position >= totalBytes ?? .max || hasGaps && start == nil {
      guard let totalBytes else { return nil }
      file.pieces = []
      range = file.prefix.count..<totalBytes
    } else if let totalBytes, hasGaps || position - bodyBytes > DownloadOptions.probeBytes {
      range = position..<min(max(minimum, position + DownloadOptions.probeBytes), totalBytes)
    } else {
      plan.extend(to: minimum, having: bodyBytes)
      range = bodyBytes..<(plan.next ?? bodyBytes)
    }
    body = []
    return BodyContinuation(file, wanting: range, after: requests, totalBytes: totalBytes, status: status, fields)
  }

  /// Whether the received part doesn't follow the beginning.
  private var hasGaps: Bool { continuation?.leavesGap == true }

  /// All parts that a probe has received.
  private func probedFile() -> SparseFile {
    guard let continuation, continuation.leavesGap else { return SparseFile(prefix: body) }
    let piece = SparseFile.Piece(offset: continuation.start, bytes: body)
    return SparseFile(prefix: continuation.prefix, pieces: continuation.pieces + [piece])
  }

  /// The response of a probe with the received prefix.
  func prefix(_ time: TimeSource) -> DownloadResponse {
    let file = probedFile()
    body = []
    let isPrefix = totalBytes != file.prefix.count
    var response = response(body: file.prefix, time, totalBytes: totalBytes, isPrefix: isPrefix)
    response.pieces = file.pieces
    return response
  }
}

/// Bodies that are coded although none was requested so.
extension ImageFailure {
  /// A body that can't be decoded. Not `undecodable`, which means that an image is permanently broken: here no image was seen.
  static func coding(_ error: ContentDecoder.CodingError, status: Int?) -> ImageFailure {
    let coded = "the body has an unrequested Content-Encoding"
    switch error {
    case .damaged(let detail):
      return ImageFailure(.contentType, status: status, message: "\(coded) that can't be decoded: \(detail)")
    case .contradicted(let detail):
      return .transient(.truncated, "\(coded) whose checksum or length doesn't match: \(detail)")
    case .bomb:
      return ImageFailure(
        .tooLarge,
        status: status,
        message: "the coded body expands to more than \(ContentDecoder.maximumRatio) times its size"
      )
    }
  }
}

/// Bodies without a declared length.
extension Transfer {
  /// Why a body that ended without an error of libcurl is incomplete, or may be; nil if it is complete.
  ///
  /// libcurl 7.88 takes a reset HTTP/2 stream, and a TLS connection that was cut, for the end of a body.
  func missingEnd() -> ImageFailure? {
    if let decoder {
      guard endsWithPart, decoder.codedBytes > 0, !decoder.isAtEnd else { return nil }
      return .transient(.truncated, "the coded body ended after \(decoder.codedBytes) bytes, before the end of its data")
    }
    guard var imageEnd else { return nil }
    return missingEnd(imageEnd.verdict())
  }

  /// As ``missingEnd()``, for a body that only a decryptor can read.
  func missingEnd(ofDecrypted body: [UInt8]) -> ImageFailure? {
    guard options.decryptor != nil, decoder == nil, needsImageEnd else { return nil }
    var imageEnd = ImageEnd()
    body.withUnsafeBytes { imageEnd.add($0) }
    return missingEnd(imageEnd.verdict())
  }

  /// Whether neither a declared length nor the transfer coding marks the end of the body.
  var needsImageEnd: Bool {
    declaredBytes == nil && contentLength == nil && !options.isText && (!isChunked || isHTTP2)
  }

  private func missingEnd(_ verdict: ImageEnd.Verdict) -> ImageFailure? {
    switch verdict {
    case .reached: return nil
    case .unknowable where hasCleanEnd: return nil
    case .missing, .unknowable:
      let end = verdict == .missing ? "before the end of the image" : "and may be incomplete"
      return .transient(.truncated, "the body without a declared length ended after \(bodyBytes) bytes, \(end)")
    }
  }
}

/// Bodies that break off, and resuming them.
extension Transfer {
  /// The part of the body that another attempt after `failure` can resume; nil if it has to start over.
  ///
  /// Resuming requires a server with ranges, a strong validator (RFC 9110, section 13.1.5) and a body without coding, since a part of a
  /// coded one can't be decoded. If this request resumed a body and got no usable response, its continuation is still valid.
  func resumption(after failure: ImageFailure, counting kept: KeptBytes) -> BodyContinuation? {
    guard method == .get, failure.isTransient, refusal == nil else { return nil }
    guard disposition == .kept else { return continuation }
    guard isResumable, [.reset, .truncated, .stalled, .timeout].contains(failure.kind) else { return nil }
    let seam = lastBytes(BodyContinuation.seamBytes)
    return BodyContinuation(
      takeBody(),
      endingAt: bodyBytes,
      seam: seam,
      hasHandedOver: hasHandedOver,
      totalBytes: totalBytes,
      status: continuation?.status ?? status,
      fields,
      counting: kept
    )
  }
}
