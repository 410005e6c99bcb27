import ImageCaching
import ImageDownloading
import Base

// Cached bodies: read, confirmed by a 304, or damaged.
extension StoreLoop {
  func prove(_ number: UInt64, _ flight: Flight, _ copy: CachedCopy) {
    let processor = BodyProcessor(flight, coders: coders, budget: budget)
    bodiesBeingProcessed += 1
    coding.run { [inbox] in
      var proof = flight.stop == .no ? CachedProof(of: flight, copy: copy, by: processor) : .abandoned
      // A check that was given up doesn't mean a broken image.
      if case .broken = proof, flight.stop == .now { proof = .abandoned }
      inbox.mailbox.post(contentsOf: [.proved(number: number, copy, proof)], wakes: flight.context.isAwaited)
    }
  }

  /// Handles a 304: the record is current, and so is the body, unless the context requires more than the record has.
  func settle(_ number: UInt64, notModified response: DownloadResponse) {
    guard let flight = flights.flight(number) else { return }
    guard let revalidation = flight.revalidation, let cache = flight.context.cache else {
      preconditionFailure("only cached images are revalidated")
    }
    let context = flight.context
    var result = EntryResult(.failed, summary: response.summary)
    result.add(response.remoteCache)
    if let failure = context.verification.failure(remoteCache: response.remoteCache) {
      return settle(number, flight, failure, result, Held())
    }
    result.add(revalidation.head)
    if let failure = flight.placeholderFailure(revalidation.head.checksum) {
      return settle(number, flight, failure, result, Held())
    }
    if needsBody(flight, of: revalidation.head) || !hasTransformed(flight, of: revalidation.head) {
      confirmed[number] = response
      return prove(number, flight, flight.copy(of: revalidation, in: cache))
    }
    result.outcome = .revalidated
    result.addDelivery(of: response)
    revalidate(revalidation.head, response, Committed(number, flight, result), nil)
  }

  /// Whether the bytes of a cached image must be read before it may be served.
  private func needsBody(_ flight: Flight, of head: EntryHead) -> Bool {
    let context = flight.context
    return context.needsPixels || context.needsData || context.options.verifiesHits || flight.entry.needsSHA256
      || context.verification.judge(head) == .needsProof
  }

  /// Serves the expired image of a flight whose revalidation failed, if that is allowed (`stale-if-error`, RFC 5861, section 4); returns
  /// whether it does.
  func serveStale(_ number: UInt64, _ flight: Flight, _ failure: ImageFailure, _ summary: TransferSummary) -> Bool {
    let context = flight.context
    guard context.options.faults.servesStale, failure.meansServerIsDown, let revalidation = flight.revalidation,
      let cache = context.cache, cache.expiry.isUsableOnError(revalidation.head, at: context.now)
    else { return false }
    if needsBody(flight, of: revalidation.head) {
      stale[number] = (context.worded(failure), summary)
      prove(number, flight, flight.copy(of: revalidation, in: cache))
    } else {
      let result = EntryResult(.hitDisk, head: revalidation.head, in: cache)
      finish(Committed(number, flight, stale: result, context.worded(failure), summary), atOnce: true)
    }
    return true
  }

  /// Whether the stored transformed image was made from this original; true if the context stores none.
  private func hasTransformed(_ flight: Flight, of original: EntryHead) -> Bool {
    let context = flight.context
    guard context.encodesTransformed, let cache = context.cache, let transform = context.transform else { return true }
    do throws(CacheError) {
      return try transform.identity(of: flight.name.identity).withRawBytes { identity throws(CacheError) in
        let key = CacheKey(identity: identity)
        return try cache.read { reader throws(CacheError) in
          switch try reader.lookUp(key, identity: identity) {
          case .missing: false
          case .fresh(let head), .expired(let head):
            try head.isMade(of: original) { () throws(CacheError) in try reader.details(key, identity: identity) }
          }
        }
      }
    } catch {
      // A new one will replace it.
      return false
    }
  }

  private func revalidate(_ head: EntryHead, _ response: DownloadResponse, _ result: Committed, _ verified: VerifiedImage?) {
    guard result.flight.context.writeCache != nil else { return finish(result) }
    let deeper = verified.flatMap { $0.proof > head.proof ? $0 : nil }
    add(.revalidate(head, response, deeper), result, Held())
  }

  func settle(_ number: UInt64, _ copy: CachedCopy, _ proof: CachedProof) {
    let response = confirmed.removeValue(forKey: number)
    let stale = stale.removeValue(forKey: number)
    guard let flight = flights.flight(number) else { return }
    if let stale { return settle(number, flight, copy, proof, stale.failure, stale.summary) }
    switch proof {
    case .good(_, let body?, _) where flight.placeholderFailure(body.checksum) != nil:
      // The look-up doesn't know the bytes of a file in a flat folder.
      requestInstead(number, flight)
    case .good(let processed, let body, let sha256):
      var outcome = LoadOutcome.hitDisk
      if case .entry(_, _, _, let head, true) = copy.source { outcome = flight.context.outcome(ofHit: head) }
      let result = EntryResult(outcome, copy: copy, verified: processed.verified, body: body, sha256: sha256)
      settle(copy, response, processed, Committed(number, flight, result, processed.product))
    case .abandoned:
      finish(Committed(number, flight, EntryResult(.cancelled)))
    case .damaged:
      giveUp(copy, number, flight)
    case .broken where copy.isTransformed:
      giveUp(copy, number, flight)
    case .broken(let failure) where failure.reason?.isUntransformable ?? false:
      // The body is good: another request would bring the same image.
      var result = response.map { EntryResult(.failed, summary: $0.summary) } ?? EntryResult(.failed)
      if let head = copy.head { result.add(head) }
      settle(number, flight, failure, result, Held())
    case .broken, .unreadable:
      requestInstead(number, flight)
    }
  }

  /// Ends a flight whose revalidation failed.
  private func settle(
    _ number: UInt64,
    _ flight: Flight,
    _ copy: CachedCopy,
    _ proof: CachedProof,
    _ failure: ImageFailure,
    _ summary: TransferSummary
  ) {
    switch proof {
    case .good(let processed, let body, let sha256):
      let result = EntryResult(.hitDisk, copy: copy, verified: processed.verified, body: body, sha256: sha256)
      finish(Committed(number, flight, stale: result, failure, summary, processed.product), atOnce: true)
    case .abandoned: finish(Committed(number, flight, EntryResult(.cancelled, summary: summary)))
    case .damaged, .broken, .unreadable:
      if case .damaged = proof { _ = removeDamaged(flight, copy) }
      settle(number, flight, failure, EntryResult(.failed, summary: summary), Held())
    }
  }

  /// Ends a flight whose cached image is good.
  private func settle(_ copy: CachedCopy, _ response: DownloadResponse?, _ processed: ProcessedBody, _ result: Committed) {
    if let response, let head = copy.ownHead {
      var result = result
      result.result.outcome = .revalidated
      result.result.add(response.summary)
      result.result.add(response.remoteCache)
      result.result.addDelivery(of: response)
      return revalidate(head, response, result, processed.verified)
    }
    touch(result.flight, copy)
    let raised = copy.ownHead.flatMap { processed.verified.proof > $0.proof ? $0 : nil }
    let isNew = raised != nil || processed.product?.transformed != nil
    guard isNew, result.flight.context.cache?.configuration.access == .readWrite else {
      return finish(result, atOnce: true)
    }
    let change = raised.map { CommitBatch.Change.raiseProof($0, processed.verified) } ?? .keepTransformed(processed.verified)
    add(change, result, Held(bytes: hold(processed.product)))
  }

  /// Continues without a copy whose bytes are damaged.
  private func giveUp(_ copy: CachedCopy, _ number: UInt64, _ flight: Flight) {
    let isGone = removeDamaged(flight, copy)
    // A remaining record would be found again and again.
    guard copy.isTransformed && isGone else { return requestInstead(number, flight) }
    // The original of a transformed image may be there.
    var result = Committed(number, flight, EntryResult(.cancelled))
    result.isVoid = true
    finish(result)
  }

  /// Requests the image of a bad cached copy, like a miss, unless the URL is blacklisted or nothing may start.
  private func requestInstead(_ number: UInt64, _ flight: Flight) {
    if let known = flight.known, !flight.context.retriesBlacklisted {
      finish(Committed(number, flight, flight.context.result(forKnownBad: known)))
    } else if !flight.context.mode.usesNetwork || !flight.mayBeDownloaded {
      finish(Committed(number, flight, EntryResult(.skipped)))
    } else if isClosing || flight.stop != .no {
      finish(Committed(number, flight, EntryResult(.cancelled)))
    } else {
      dispatcher.submit(flight, number: number, isConditional: false)
    }
  }

  /// Removes the record of a body that is gone or changed, unless the record has changed meanwhile. Returns whether it is gone.
  private func removeDamaged(_ flight: Flight, _ copy: CachedCopy) -> Bool {
    let (context, url) = (flight.context, flight.shownText)
    guard case .entry(let cache, let key, _, let head, true) = copy.source else {
      context.recordWarning("the copy of \(url) in a read-only cache is damaged or gone")
      return false
    }
    guard cache.configuration.access == .readWrite else {
      context.recordWarning("the cached copy of \(url) is damaged")
      return false
    }
    do throws(CacheError) {
      if try cache.removeDamaged(key, head) {
        context.recordWarning("the cached copy of \(url) was damaged and has been removed")
      }
      return true
    } catch {
      context.recordWarning("the cached copy of \(url) is damaged, and removing it failed: \(context.sentence(error))")
      return false
    }
  }
}

extension Committed {
  /// An expired image that is served since its revalidation failed; it is neither stored nor remembered.
  fileprivate init(
    _ number: UInt64,
    _ flight: Flight,
    stale: EntryResult,
    _ failure: ImageFailure,
    _ summary: TransferSummary,
    _ product: ImageProduct? = nil
  ) {
    self.init(number, flight, stale, product)
    result.add(summary)
    result.details.staleReason = failure
    mayBeKept = false
  }
}

extension Flight {
  /// The cached image that was to be revalidated.
  fileprivate func copy(of revalidation: Revalidation, in cache: ImageCache) -> CachedCopy {
    let source = CachedCopy.Source.entry(cache, key: name.key, identity: name.identity, head: revalidation.head, isOwn: true)
    return CachedCopy(source: source, vary: revalidation.details.vary)
  }
}

extension ImageFailure {
  /// Whether the server doesn't respond, or responds with a status for which `stale-if-error` is meant (RFC 5861, section 4).
  fileprivate var meansServerIsDown: Bool {
    switch kind {
    case .dns, .connect, .timeout, .stalled, .reset, .truncated, .hostDown, .tls: true
    case .httpStatus: status.map { [500, 502, 503, 504].contains($0) } ?? false
    case .redirects, .tooLarge, .contentType, .remoteCache, .refusedAddress, .robots, .notAnImage, .empty, .undecodable, .size,
      .format, .dimensions, .animated, .placeholder, .invalidURL, .cacheWrite, .internal, .expectation:
      false
    }
  }
}
