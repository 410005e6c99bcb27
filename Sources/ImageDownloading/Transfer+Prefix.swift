import ImagePrimitives

/// Bodies of which the beginning decides, or is all that is wanted.
extension Transfer {
  /// What is left of a body whose beginning has decided may take so long to be read.
  static let drainTime = Duration.milliseconds(250)

  /// What the judge says of what is here; a refusal ends the download for good.
  func judgement(isComplete: Bool) -> PrefixVerdict {
    guard let judge = options.prefixJudge, !body.isEmpty else { return .accepted }
    let head = PrefixHead(contentType: fields.last(.contentType), totalBytes: totalBytes, isComplete: isComplete)
    let verdict = body.withUnsafeBytes { judge.judge($0, head) }
    guard case .refused(var failure) = verdict else { return verdict }
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
    deadline = min(deadline, turn.now.advanced(by: Self.drainTime))
    turn.nextTimeLimit = min(turn.nextTimeLimit, deadline)
    return true
  }

  /// What a probe came to whose answer has ended.
  func endOfProbe(_ time: TimeSource) -> Verdict {
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
    return .image(prefix(time))
  }

  /// What a probe has.
  func prefix(_ time: TimeSource) -> DownloadedImage {
    let isPrefix = totalBytes != body.count
    return image(body: takeBody(), time, totalBytes: totalBytes, isPrefix: isPrefix)
  }
}
