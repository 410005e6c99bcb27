import ImagePrimitives

/// What becomes of the bytes of a body.
extension Transfer {
  /// A body that is not wanted, or the rest of one, is read to its end up to this size, so that its connection serves again.
  static let drainedBytes = 64 << 10

  /// Makes ready for the body of the next answer, which may go on from what is there.
  func beginBody(continuation: BodyContinuation?) {
    self.continuation = continuation
    body = continuation?.prefix ?? []
    bodyBytes = continuation?.start ?? 0
    declaredBytes = nil
    drainLimit = bodyBytes + Self.drainedBytes
    hasHandedOver = continuation?.hasHandedOver == true
    isStreamed = hasHandedOver
    isChunked = false
    isCoded = false
    decoder = nil
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

  /// Forgets what the request went on from, since its answer does not.
  func startOver() {
    guard continuation != nil else { return }
    if hasHandedOver, let job { iteration.streamed.append(.restart(slot: job)) }
    continuation = nil
    handedOverTail = []
    body = []
    bodyBytes = 0
    drainLimit = Self.drainedBytes
    hasHandedOver = false
    isStreamed = false
    if method != .probe { plan = PrefixPlan(isJudged: options.prefixJudge != nil && options.decryptor == nil) }
  }

  /// Makes room for what is to come, but no more than a chunk: what a server declares is not believed with memory.
  func reserve() { body.reserveCapacity(min(declaredBytes ?? 0, method == .probe ? plan.next ?? 0 : options.chunkBytes)) }

  /// Takes bytes of the body; false stops the transfer.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    lastProgress = iteration.now
    if disposition == .undecided { decide() }
    guard disposition == .kept else {
      bodyBytes += bytes.count
      return bodyBytes <= drainLimit
    }
    guard refusal == nil else { return false }
    if isObserved, !isNoted {
      isNoted = true
      iteration.progressed.append(index)
    }
    guard let decoder else { return take(bytes) }
    if decoder.decode(bytes, take) { return true }
    if let problem = decoder.problem { refusal = .coding(problem, status: status) }
    return false
  }

  /// Takes bytes as they are decoded; false stops the transfer.
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

  /// Adds to the body; false where it is too large.
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

  /// Asks the judge of a body that is wanted whole.
  private func isStillWanted() -> Bool {
    switch judgement(isComplete: false) {
    case .accepted: plan.settle()
    case .needsMore(let minimum): plan.extend(to: minimum, having: bodyBytes)
    case .refused: return false
    }
    return true
  }

  /// Hands over what has gathered as a chunk.
  func handOver() {
    let isLast = bodyBytes == declaredBytes
    guard let job else { return }
    if isResumable, !isLast { handedOverTail = lastBytes(BodyContinuation.seamBytes) }
    iteration.streamed.append(.chunk(slot: job, attempt: attempt, bytes: takeBody()))
    hasHandedOver = true
    // The beginning is gone.
    plan.settle()
    if !isLast { body.reserveCapacity(min(options.chunkBytes + (16 << 10), (declaredBytes ?? .max) - bodyBytes)) }
  }

  /// The last `count` bytes of what has come of the body.
  private func lastBytes(_ count: Int) -> [UInt8] {
    body.count >= count ? body.suffix(count) : (handedOverTail + body).suffix(count)
  }

  /// The body, or what is left of it where it is streamed.
  func takeBody() -> [UInt8] {
    defer { body = [] }
    return body
  }
}

/// Bodies of which the beginning decides, or is all that is wanted.
extension Transfer {
  /// What is left of a body whose beginning has decided may take so long to be read.
  static let drainTime = Duration.milliseconds(250)

  /// What the judge says of what is here; a refusal ends the download for good.
  func judgement(isComplete: Bool) -> PrefixVerdict {
    guard let judge = options.prefixJudge, !body.isEmpty else { return .accepted }
    let head = PrefixHead(contentType: fields.last(.contentType), totalBytes: totalBytes, isComplete: isComplete)
    let outcome = body.withUnsafeBytes { judge.judge($0, head) }
    guard case .refused(var failure) = outcome else { return outcome }
    failure.isTransient = false
    refusal = failure
    return .refused(failure)
  }

  /// Takes bytes of a probe's answer, which may be more than were asked for; false stops the transfer.
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
      case .needsMore(let minimum): plan.extend(to: minimum, having: bodyBytes)
      case .refused:
        bodyBytes += rest.count
        return endEarly()
      }
    }
    hasEnough = true
    bodyBytes += rest.count
    return endEarly()
  }

  /// Ends a transfer that is decided: at once, which closes its connection, or after the little that is left of its body.
  func endEarly() -> Bool {
    disposition = .discarded
    guard let declaredBytes, declaredBytes - bodyBytes <= Self.drainedBytes else { return false }
    drainLimit = declaredBytes
    deadline = min(deadline, iteration.now.advanced(by: Self.drainTime))
    iteration.nextTimeLimit = min(iteration.nextTimeLimit, deadline)
    return true
  }

  /// What a probe came to whose answer has ended.
  func endOfProbe(_ time: TimeSource) -> TransferOutcome {
    if endsWithPart { totalBytes = bodyBytes }
    switch judgement(isComplete: endsWithPart) {
    case .accepted: break
    case .refused(let failure): return .failure(failure)
    case .needsMore(let minimum):
      let requests = 1 + (continuation?.requests ?? 0)
      plan.extend(to: minimum, having: bodyBytes)
      // A part of a coded body cannot be gone on from.
      guard !endsWithPart, declaredBytes != nil, requests < PrefixPlan.maximumRequests, let next = plan.next else { break }
      return .needsMore(
        BodyContinuation(takeBody(), wanting: next, after: requests, totalBytes: totalBytes, status: status, fields)
      )
    }
    return .response(prefix(time))
  }

  /// What a probe has.
  func prefix(_ time: TimeSource) -> Response {
    let isPrefix = totalBytes != body.count
    return response(body: takeBody(), time, totalBytes: totalBytes, isPrefix: isPrefix)
  }
}

/// Bodies that come coded though none was asked for.
extension Failure {
  /// A body whose codings can't be undone. Not `undecodable`, which says that an image is broken for good: here no image was seen.
  static func coding(_ problem: ContentDecoder.Problem, status: Int?) -> Failure {
    let coded = "the body came with a Content-Encoding that was not asked for"
    switch problem {
    case .damaged(let detail):
      return Failure(.contentType, status: status, message: "\(coded) and could not be undone: \(detail)")
    case .contradicted(let detail):
      return .transient(.truncated, "\(coded), and its end doesn't fit the bytes before it: \(detail)")
    case .excess:
      return Failure(.contentType, status: status, message: "\(coded), and has more bytes behind the end of the coded ones")
    case .bomb:
      return Failure(
        .tooLarge,
        status: status,
        message: "the body comes coded, and unpacks to more than \(ContentDecoder.maximumRatio) times the bytes that came"
      )
    }
  }

  static func unknownCoding(_ name: String, status: Int?) -> Failure {
    Failure(
      .contentType,
      status: status,
      message: "the body came with a Content-Encoding that was not asked for and is not known here: \(name.quotable)"
    )
  }
}

/// Bodies whose length nobody told.
extension Transfer {
  /// Why a body that has ended well by libcurl's word is not whole, or can't be shown to be; nil if it is whole.
  ///
  /// libcurl 7.88 takes streams of HTTP/2 that were reset, and connections of TLS that were cut, for the end of a body.
  func missingEnd() -> Failure? {
    if let decoder {
      guard endsWithPart, decoder.codedBytes > 0, !decoder.isAtEnd else { return nil }
      return .transient(.truncated, "the coded body ended after \(decoder.codedBytes) bytes, before the end of its coding")
    }
    guard var imageEnd else { return nil }
    return missingEnd(imageEnd.verdict())
  }

  /// The same for a body that only a decryptor could read.
  func missingEnd(ofDecrypted body: [UInt8]) -> Failure? {
    guard options.decryptor != nil, decoder == nil, needsImageEnd else { return nil }
    var imageEnd = ImageEnd()
    body.withUnsafeBytes { imageEnd.add($0) }
    return missingEnd(imageEnd.verdict())
  }

  /// Whether neither a length nor the coding of the transfer shows where the body ends.
  var needsImageEnd: Bool {
    declaredBytes == nil && contentLength == nil && !options.isText && (!isChunked || isHTTP2)
  }

  private func missingEnd(_ verdict: ImageEnd.Verdict) -> Failure? {
    switch verdict {
    case .reached: return nil
    case .unknowable where hasCleanEnd: return nil
    case .missing, .unknowable:
      let end = verdict == .missing ? "before the end of the image" : "and nothing shows that it is whole"
      return .transient(.truncated, "the body, whose length was not declared, ended after \(bodyBytes) bytes, \(end)")
    }
  }
}

/// Bodies that break off, and what a retry goes on from.
extension Transfer {
  /// What another attempt after `failure` goes on from; nil where it has to begin anew.
  ///
  /// That needs a server that gives ranges, a strong validator (RFC 9110, section 13.1.5) and a body that is not coded, since a part of
  /// a coded one cannot be decoded. Where no answer of use came to a request that went on itself, what that went on from still stands.
  func resumption(after failure: Failure) -> BodyContinuation? {
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
      counting: iteration.keptBytes
    )
  }
}
