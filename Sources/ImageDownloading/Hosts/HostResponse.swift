import ImagePrimitives

/// What a request that has ended tells of its host.
enum HostResponse {
  /// It answered, whatever; with the time from the request to the first byte, where that was asked for.
  case answered(latencyNanoseconds: UInt64?)
  /// It asks for a pause, by 429 or 503, in answer to a request that began then.
  case busy(begun: MonotonicInstant)
  /// It failed in a way that may heal.
  case failed(Failure)
  case nothing
}
