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
    isCoded = false
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
    if hasHandedOver, let job { turn.streamed.append(.restart(slot: job)) }
    continuation = nil
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
    lastProgress = turn.now
    if disposition == .undecided { decide() }
    guard disposition == .kept else {
      bodyBytes += bytes.count
      return bodyBytes <= drainLimit
    }
    guard refusal == nil else { return false }
    if isObserved, !isNoted {
      isNoted = true
      turn.progressed.append(place)
    }
    return method == .probe ? receivePrefix(bytes) : receiveWhole(bytes)
  }

  private func receiveWhole(_ bytes: UnsafeRawBufferPointer) -> Bool {
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
    if isCoded, unpacksTooFar {
      refusal = .bomb(status: status)
      return false
    }
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
    turn.streamed.append(.chunk(slot: job, attempt: attempt, bytes: takeBody()))
    hasHandedOver = true
    // The beginning is gone.
    plan.settle()
    if !isLast { body.reserveCapacity(min(options.chunkBytes + (16 << 10), (declaredBytes ?? .max) - bodyBytes)) }
  }

  /// The body, or what is left of it where it is streamed.
  func takeBody() -> [UInt8] {
    defer { body = [] }
    return body
  }
}
