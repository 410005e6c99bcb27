import ImagePrimitives

/// Which failures are remembered, and whether a remembered URL is asked again.
public struct BlacklistRules: Sendable {
  /// Whether the blacklist is read and written at all; default true.
  public var isEnabled: Bool
  /// Whether blacklisted URLs are asked all the same; a success takes them off. Default false.
  public var retriesFailed: Bool
  /// The HTTP statuses that are for good, by default those that do not heal by themselves.
  public var statuses: [ClosedRange<Int>]

  /// Rules with the given parts, each with its default.
  public init(isEnabled: Bool = true, retriesFailed: Bool = false, statuses: [ClosedRange<Int>] = BlacklistRules.lastingStatuses)
  {
    self.isEnabled = isEnabled
    self.retriesFailed = retriesFailed
    self.statuses = statuses
  }

  /// 400, 404–406, 410–415, 417, 422 and 451: what does not heal by itself. Not 401 and 403, since one expired token
  /// would silence a whole site.
  public static let lastingStatuses: [ClosedRange<Int>] = [400...400, 404...406, 410...415, 417...417, 422...422, 451...451]

  /// Whether a failure that was final for this run is remembered for the next.
  ///
  /// Never what depends on the job, and never what may heal by itself, unless its status is named.
  func remembers(_ failure: Failure) -> Bool {
    guard isEnabled else { return false }
    switch failure.kind {
    case .httpStatus:
      guard let status = failure.status else { return false }
      return statuses.contains { $0.contains(status) }
    case .notAnImage, .empty, .undecodable:
      return true
    case .dns, .connect, .timeout, .stalled, .reset, .truncated, .hostDown, .tls,
      .redirects, .tooLarge, .contentType, .remoteCache, .refusedAddress, .robots,
      .size, .format, .dimensions, .animated, .placeholder, .invalidURL, .cacheWrite, .internal:
      return false
    }
  }
}
