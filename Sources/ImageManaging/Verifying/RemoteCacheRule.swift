import ImageDownloading
import ImagePrimitives

extension VerificationRules {
  /// Why what caches on the way had is not enough; nil where it is, or where they were not asked.
  func failure(remoteCache answer: RemoteCacheResponse?) -> Failure? {
    guard requiresRemoteHit, let answer, answer.status != .hit else { return nil }
    let rule = "and verify.remote-cache asks for a hit"
    if let failure = answer.failure { return Failure(.remoteCache, message: "the second request failed, \(rule): \(failure)") }
    guard let evidence = answer.evidence else {
      return Failure(.remoteCache, message: "no header of the second answer tells of a cache, \(rule)")
    }
    return Failure(.remoteCache, message: "no cache on the way had it by the second answer's '\(evidence)', \(rule)")
  }
}

extension RemoteCacheResponse {
  /// What was odd, and is no failure.
  var warning: String? { failure.map { "the second request failed: \($0)" } }
}
