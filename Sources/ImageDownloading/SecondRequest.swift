import ImagePrimitives

/// An accepted answer, kept while the same request is made again, which tells what caches on the way have by now.
///
/// A class, so that jobs stay small, few of which have one.
final class AcceptedAnswer {
  fileprivate let verdict: Verdict
  /// Whether its body has gone out in chunks.
  let wasStreamed: Bool

  fileprivate init?(_ verdict: Verdict) {
    switch verdict {
    case .image(let image), .notModified(let image): wasStreamed = image.wasStreamed
    case .redirect, .headRefused, .needsMore, .startOver, .remoteCache, .failure: return nil
    }
    self.verdict = verdict
  }

  /// The verdict on it, with what the second request came to.
  fileprivate func verdict(after second: Verdict) -> Verdict {
    let answer: RemoteCacheAnswer
    switch second {
    case .remoteCache(let told): answer = told
    case .failure(let failure): answer = RemoteCacheAnswer(.unknown, failure: failure.message)
    case .headRefused: answer = RemoteCacheAnswer(.unknown, failure: "the server answers HEAD no more")
    case .image, .notModified, .redirect, .needsMore, .startOver:
      answer = RemoteCacheAnswer(.unknown, failure: "the server leads elsewhere by now")
    }
    switch verdict {
    case .image(var image):
      image.remoteCache = answer
      return .image(image)
    case .notModified(var image):
      image.remoteCache = answer
      return .notModified(image)
    case .redirect, .headRefused, .needsMore, .startOver, .remoteCache, .failure: return verdict
    }
  }
}

extension TransferLoop {
  /// Puts the second request between an accepted answer and the end of its job, where the options ask for one; nil where it is on its
  /// way now. It goes on with the attempt: it takes no place that others wait for, and is not tried again.
  func verdictAfterSecondRequest(_ slot: Int, _ verdict: Verdict) -> Verdict? {
    if let accepted = jobs[slot].accepted { return accepted.verdict(after: verdict) }
    guard jobs[slot].download.options.checksRemoteCache, jobs[slot].loader == nil else { return verdict }
    guard let accepted = AcceptedAnswer(verdict) else { return verdict }
    jobs[slot].askAgain(keeping: accepted)
    enqueue(slot)
    return nil
  }
}

extension Transfer {
  /// Reads the head of a second answer, for which alone it was asked: its body is read where that is little, so that the connection
  /// serves again, and cut off where not.
  func readRemoteCache(_ part: AnsweredPart, contentLength: Int?) {
    do throws(Failure) {
      guard try accepts(part) || hasEnough else { return }
    } catch {
      rejection = error
      return
    }
    remoteCache = RemoteCacheAnswer(fields)
    if contentLength ?? 0 > Self.drainedBytes { drainLimit = 0 }
    deadline = min(deadline, turn.now.advanced(by: Self.drainTime))
    turn.nextTimeLimit = min(turn.nextTimeLimit, deadline)
  }
}
