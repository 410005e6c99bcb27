import Base

/// An accepted response, kept while the same request is made again to see the status of caches on the way.
///
/// A class, so that jobs stay small: few have one.
final class AcceptedResponse {
  private let response: DownloadResponse

  init(_ response: DownloadResponse) { self.response = response }

  /// The response with the outcome of the second request.
  fileprivate func response(after second: TransferOutcome) -> DownloadResponse {
    var response = response
    response.remoteCache =
      switch second {
      case .remoteCache(let found): found
      case .failure(let failure): RemoteCacheResponse(.unknown, failure: failure)
      case .response, .redirect, .needsMore, .startOver, .refused:
        RemoteCacheResponse(.unknown, failure: ImageFailure(.redirects, message: "the server redirects the second request"))
      }
    return response
  }
}

extension TransferLoop {
  /// Returns the outcome to settle, or nil if it queued a second request between an accepted response and the end of its job. That
  /// continues the attempt, so it needs no new slot and isn't retried.
  func outcomeAfterSecondRequest(_ slot: Int, _ outcome: TransferOutcome) -> TransferOutcome? {
    if let accepted = pending[slot].accepted { return .response(accepted.response(after: outcome)) }
    guard pending[slot].download.options.checksRemoteCache, pending[slot].loader == nil else { return outcome }
    guard case .response(let response) = outcome else { return outcome }
    pending[slot].requestAgain(keeping: AcceptedResponse(response))
    enqueue(slot)
    return nil
  }
}

extension Transfer {
  /// Reads the head of a second response. A small body is read too, so that the connection can be reused; a larger one is cut off.
  func readRemoteCache(_ part: ResponsePart, contentLength: Int?) {
    do throws(ImageFailure) {
      guard try accepts(part) || hasEnough else { return }
    } catch {
      rejection = error
      return
    }
    remoteCache = RemoteCacheResponse(fields)
    if contentLength ?? 0 > Self.drainedBytes { drainLimit = 0 }
    deadline = min(deadline, record.now.advanced(by: Self.drainTime))
    record.nextTimeLimit = min(record.nextTimeLimit, deadline)
  }
}
