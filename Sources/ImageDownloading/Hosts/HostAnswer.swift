import ImagePrimitives

/// What a request that has ended tells of its host.
enum HostAnswer {
  /// It answered, whatever; with the time from the request to the first byte, where that was asked for.
  case answered(latencyNanoseconds: UInt64?)
  /// It asks for a pause: 429 or 503.
  case busy
  /// It failed in a way that may heal.
  case failed(Failure)
  case nothing
}
