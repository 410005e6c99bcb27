import CCurl
import Base

extension Transfer {
  /// The maximum size of an unwanted body, or rest of one, that is read to its end to keep its connection.
  static let drainedBytes = 64 << 10

  /// The received bytes of the body, and how the next ones are handled.
  struct Body {
    /// The bytes since the last chunk.
    var bytes: [UInt8] = []
    /// The number of bytes received, including a continuation's.
    var count = 0
    /// A discarded body is read up to this offset.
    var drainLimit = Transfer.drainedBytes
    var isStreamed = false
    var hasHandedOver = false
    /// When the beginning is judged.
    var plan = PrefixPlan(isJudged: false)
    /// The part that the request resumes; nil if the response starts over.
    var continuation: BodyContinuation?
    /// The bytes that must come next if the version is that of ``continuation``.
    var expectedSeam: ArraySlice<UInt8> = []
    /// The last bytes before ``bytes``, as many as a further request may repeat.
    var handedOverTail: [UInt8] = []

    init() {}

    init(continuing continuation: BodyContinuation?, _ request: Request) {
      let prepared = request.prepared
      if let continuation {
        self.continuation = continuation
        bytes = continuation.leavesGap ? [] : continuation.prefix
        count = continuation.start
        drainLimit = count + Transfer.drainedBytes
        hasHandedOver = continuation.hasHandedOver
        isStreamed = hasHandedOver
        handedOverTail = Array(continuation.seam.dropLast(continuation.prefix.count))
      }
      plan =
        request.method == .probe
        ? PrefixPlan(probing: continuation)
        : PrefixPlan(
          isJudged: prepared.options.purpose.prefixJudge != nil && prepared.options.decryptor == nil && !hasHandedOver
        )
    }
  }

  /// Drops the continuation, since the response starts over.
  func startOver() {
    guard body.continuation != nil else { return }
    if body.hasHandedOver { record.report.events.append((id, .restarted)) }
    body = Body(continuing: nil, request)
  }

  /// Handles bytes of the body; false stops the transfer.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    request.lastProgress = record.now
    if response.disposition == .undecided { decide() }
    guard response.disposition == .kept else {
      body.count += bytes.count
      return body.count <= body.drainLimit
    }
    guard response.refusal == nil else { return false }
    if isObserved, !request.isNoted {
      request.isNoted = true
      record.progressing.append(self)
    }
    guard let decoder = response.decoder else { return take(bytes) }
    if decoder.decode(bytes, take) {
      // Bytes after the end of a stream add nothing to the body.
      guard decoder.codedBytes > options.maxBytes else { return true }
      response.refusal = .tooLarge(limit: options.maxBytes, status: status)
      return false
    }
    if let error = decoder.error { response.refusal = .coding(error, status: status) }
    return false
  }

  /// Handles decoded bytes; false stops the transfer.
  private func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if request.method == .probe { return receivePrefix(bytes) }
    var bytes = bytes
    if !body.expectedSeam.isEmpty {
      let overlap = bytes.prefix(body.expectedSeam.count)
      guard overlap.elementsEqual(body.expectedSeam.prefix(overlap.count)) else {
        response.mustStartOver = true
        return false
      }
      body.expectedSeam = body.expectedSeam.dropFirst(overlap.count)
      bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(overlap.count))
      if bytes.isEmpty { return true }
    }
    if body.continuation != nil, let declaredBytes = response.declaredBytes, bytes.count > declaredBytes - body.count {
      response.refusal = .otherRange
      return false
    }
    guard append(bytes[...]) else { return false }
    if let next = body.plan.next, body.count >= next, body.count != response.declaredBytes, !isStillWanted() { return endEarly() }
    if body.count > options.streamAbove, options.decryptor == nil { body.isStreamed = true }
    if body.isStreamed, body.bytes.count >= options.chunkBytes { handOver() }
    return true
  }

  /// Appends to the body; false if it is too large.
  func append(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
    body.count += bytes.count
    guard body.count <= options.maxBytes else {
      response.refusal = .tooLarge(limit: options.maxBytes, status: status)
      return false
    }
    response.imageEnd?.add(UnsafeRawBufferPointer(rebasing: bytes))
    body.bytes.append(contentsOf: bytes)
    return true
  }

  private func isStillWanted() -> Bool {
    switch judgement(isComplete: false) {
    case .accepted: body.plan.settle()
    case .needsMore(let minimum, _): body.plan.extend(to: minimum, having: body.count)
    case .refused: return false
    }
    return true
  }

  /// Hands over the received bytes as a chunk.
  func handOver() {
    let isLast = body.count == response.declaredBytes
    if response.isResumable, !isLast { body.handedOverTail = lastBytes(BodyContinuation.seamBytes) }
    record.report.events.append((id, .chunk(attempt: request.attempt, takeBody())))
    body.hasHandedOver = true
    // The beginning is no longer available.
    body.plan.settle()
    if !isLast { body.bytes.reserveCapacity(min(reservedBytes, (response.declaredBytes ?? .max) - body.count)) }
  }

  /// The maximum size of a chunk: the last bytes that complete it, at most CURL_MAX_WRITE_SIZE, may exceed it.
  var reservedBytes: Int { options.chunkBytes + Int(CURL_MAX_WRITE_SIZE) }

  private func lastBytes(_ count: Int) -> [UInt8] {
    body.bytes.count >= count ? body.bytes.suffix(count) : (body.handedOverTail + body.bytes).suffix(count)
  }

  /// Removes and returns the body, or the remaining bytes of a streamed one.
  func takeBody() -> [UInt8] {
    defer { body.bytes = [] }
    return body.bytes
  }
}

/// Bodies that are judged by their beginning, or requested as a prefix.
extension Transfer {
  /// How long reading the rest of a judged body may take.
  static let drainTime = Duration.milliseconds(250)

  /// The judgement of the received bytes; a refusal is permanent.
  func judgement(isComplete: Bool) -> PrefixVerdict {
    guard let judge = options.purpose.prefixJudge, !body.bytes.isEmpty else { return .accepted }
    var head = PrefixHead(contentType: fields.last(.contentType), totalBytes: response.totalBytes, isComplete: isComplete)
    head.hasGaps = hasGaps
    head.undecoded = response.undecoded
    let outcome =
      hasGaps ? probedFile().withBytes { judge.judge($0, head) } : body.bytes.withUnsafeBytes { judge.judge($0, head) }
    guard case .refused(var failure) = outcome else { return outcome }
    failure.isTransient = false
    response.refusal = failure
    return .refused(failure)
  }

  /// Handles bytes of a probe's response, which may be more than requested; false stops the transfer.
  private func receivePrefix(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if let declaredBytes = response.declaredBytes, bytes.count > declaredBytes - body.count {
      response.refusal = .otherRange
      return false
    }
    var rest = bytes[...]
    while let next = body.plan.next {
      let part = rest.prefix(next - body.count)
      rest = rest.dropFirst(part.count)
      guard append(part) else { return false }
      guard body.count == next, !rest.isEmpty || body.count < response.declaredBytes ?? 0 else { return true }
      if !isStillWanted() { break }
    }
    response.hasEnough = response.refusal == nil
    body.count += rest.count
    return endEarly()
  }

  /// Ends a judged transfer: at once, which closes its connection, or after the rest of the body if that is small.
  func endEarly() -> Bool {
    response.disposition = .discarded
    guard let declaredBytes = response.declaredBytes, declaredBytes - body.count <= Self.drainedBytes else { return false }
    body.drainLimit = declaredBytes
    request.deadline = min(request.deadline, record.now.advanced(by: Self.drainTime))
    record.nextTimeLimit = min(record.nextTimeLimit, request.deadline)
    return true
  }

  func endOfProbe(_ time: TimeSource) -> TransferOutcome {
    if response.endsWithPart { response.totalBytes = body.count }
    let isWhole = response.endsWithPart && !hasGaps
    switch judgement(isComplete: isWhole) {
    case .accepted: break
    case .refused(let failure): return .failure(failure)
    case .needsMore(let minimum, let start):
      if !isWhole, let next = nextPart(to: minimum, from: start) { return .needsMore(next) }
    }
    return .response(prefix(time))
  }

  /// The request for the bytes up to `minimum`, without those before `start`, or after many requests for all; nil if none.
  private func nextPart(to minimum: Int, from start: Int?) -> BodyContinuation? {
    let requests = 1 + (body.continuation?.requests ?? 0)
    // A later part of a coded body can't be decoded.
    guard response.declaredBytes != nil, requests <= PrefixPlan.maximumRequests else { return nil }
    var file = probedFile()
    let position = max(body.count, start ?? 0)
    let range: Range<Int>
    if requests == PrefixPlan.maximumRequests || position >= response.totalBytes ?? .max || hasGaps && start == nil {
      guard let totalBytes = response.totalBytes else { return nil }
      file.pieces = []
      range = file.prefix.count..<totalBytes
    } else if let totalBytes = response.totalBytes, hasGaps || position - body.count > DownloadOptions.probeBytes {
      range = position..<min(max(minimum, position + DownloadOptions.probeBytes), totalBytes)
    } else {
      body.plan.extend(to: minimum, having: body.count)
      range = body.count..<(body.plan.next ?? body.count)
    }
    body.bytes = []
    return BodyContinuation(file, wanting: range, after: requests, of: self)
  }

  /// Whether the received part doesn't follow the beginning.
  private var hasGaps: Bool { body.continuation?.leavesGap == true }

  private func probedFile() -> SparseFile {
    guard let continuation = body.continuation, continuation.leavesGap else { return SparseFile(prefix: body.bytes) }
    let piece = SparseFile.Piece(offset: continuation.start, bytes: body.bytes)
    return SparseFile(prefix: continuation.prefix, pieces: continuation.pieces + [piece])
  }

  func prefix(_ time: TimeSource) -> DownloadResponse {
    let file = probedFile()
    body.bytes = []
    let isPrefix = response.totalBytes != file.prefix.count
    var result = result(body: file.prefix, time, totalBytes: response.totalBytes, isPrefix: isPrefix)
    result.pieces = file.pieces
    return result
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
    if let decoder = response.decoder {
      guard response.endsWithPart, decoder.codedBytes > 0, !decoder.isAtEnd else { return nil }
      return .transient(.truncated, "the coded body ended after \(decoder.codedBytes) bytes, before the end of its data")
    }
    guard var imageEnd = response.imageEnd else { return nil }
    return missingEnd(imageEnd.verdict())
  }

  /// As ``missingEnd()``, for a body that only a decryptor can read.
  func missingEnd(ofDecrypted body: [UInt8]) -> ImageFailure? {
    guard options.decryptor != nil, response.decoder == nil, needsImageEnd else { return nil }
    var imageEnd = ImageEnd()
    body.withUnsafeBytes { imageEnd.add($0) }
    return missingEnd(imageEnd.verdict())
  }

  /// Whether neither a declared length nor the transfer coding marks the end of the body.
  var needsImageEnd: Bool {
    response.declaredBytes == nil && contentLength == nil && !options.purpose.isText && (!response.isChunked || isHTTP2)
  }

  private func missingEnd(_ verdict: ImageEnd.Verdict) -> ImageFailure? {
    switch verdict {
    case .reached: return nil
    case .unknowable where response.hasCleanEnd: return nil
    case .missing, .unknowable:
      let end = verdict == .missing ? "before the end of the image" : "and may be incomplete"
      return .transient(.truncated, "the body without a declared length ended after \(body.count) bytes, \(end)")
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
    guard request.method == .get, failure.isTransient, response.refusal == nil else { return nil }
    guard response.disposition == .kept else { return body.continuation }
    guard response.isResumable, [.reset, .truncated, .stalled, .timeout].contains(failure.kind) else { return nil }
    return BodyContinuation(of: self, endingIn: lastBytes(BodyContinuation.seamBytes), counting: kept)
  }
}
