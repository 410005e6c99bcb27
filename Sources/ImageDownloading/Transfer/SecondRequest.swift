import ImagePrimitives

/// An accepted answer, kept while the same request is made again, which tells what caches on the way have by now.
///
/// A class, so that jobs stay small, few of which have one.
final class AcceptedResponse {
  fileprivate let outcome: TransferOutcome
  /// Whether its body has gone out in chunks.
  let wasStreamed: Bool

  fileprivate init?(_ outcome: TransferOutcome) {
    switch outcome {
    case .image(let image), .notModified(let image): wasStreamed = image.wasStreamed
    case .redirect, .headRefused, .needsMore, .startOver, .remoteCache, .failure: return nil
    }
    self.outcome = outcome
  }

  /// Its outcome, with that of the second request.
  fileprivate func outcome(after second: TransferOutcome) -> TransferOutcome {
    let answer: RemoteCacheResponse
    switch second {
    case .remoteCache(let told): answer = told
    case .failure(let failure): answer = RemoteCacheResponse(.unknown, failure: failure.message)
    case .headRefused: answer = RemoteCacheResponse(.unknown, failure: "the server answers HEAD no more")
    case .image, .notModified, .redirect, .needsMore, .startOver:
      answer = RemoteCacheResponse(.unknown, failure: "the server leads elsewhere by now")
    }
    switch outcome {
    case .image(var image):
      image.remoteCache = answer
      return .image(image)
    case .notModified(var image):
      image.remoteCache = answer
      return .notModified(image)
    case .redirect, .headRefused, .needsMore, .startOver, .remoteCache, .failure: return outcome
    }
  }
}

extension TransferLoop {
  /// Puts the second request between an accepted answer and the end of its job, where the options ask for one; nil where it is on its
  /// way now. It goes on with the attempt: it takes no place that others wait for, and is not tried again.
  func outcomeAfterSecondRequest(_ slot: Int, _ outcome: TransferOutcome) -> TransferOutcome? {
    if let accepted = pending[slot].accepted { return accepted.outcome(after: outcome) }
    guard pending[slot].download.options.checksRemoteCache, pending[slot].loader == nil else { return outcome }
    guard let accepted = AcceptedResponse(outcome) else { return outcome }
    pending[slot].askAgain(keeping: accepted)
    enqueue(slot)
    return nil
  }
}

extension Transfer {
  /// Reads the head of a second answer, for which alone it was asked: its body is read where that is little, so that the connection
  /// serves again, and cut off where not.
  func readRemoteCache(_ part: ResponsePart, contentLength: Int?) {
    do throws(Failure) {
      guard try accepts(part) || hasEnough else { return }
    } catch {
      rejection = error
      return
    }
    remoteCache = RemoteCacheResponse(fields)
    if contentLength ?? 0 > Self.drainedBytes { drainLimit = 0 }
    deadline = min(deadline, iteration.now.advanced(by: Self.drainTime))
    iteration.nextTimeLimit = min(iteration.nextTimeLimit, deadline)
  }
}
