import ImagePrimitives

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
    return BodyContinuation(
      takeBody(),
      endingAt: bodyBytes,
      hasHandedOver: hasHandedOver,
      totalBytes: totalBytes,
      status: continuation?.status ?? status,
      fields,
      counting: turn.keptBytes
    )
  }
}
