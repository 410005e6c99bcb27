/// The origins whose servers answer no HEAD, so that their other URLs are probed at once.
struct HeadRefusals {
  /// Beyond so many origins all are forgotten, and learned anew.
  private static let maximumCount = 4096

  private var origins: Set<URLOrigin> = []

  /// Notes the origin of a normalised URL.
  mutating func insert(_ url: [UInt8]) {
    guard let origin = URLOrigin(url) else { return }
    if origins.count >= Self.maximumCount { origins.removeAll() }
    origins.insert(URLOrigin(copying: origin))
  }

  func contains(_ url: [UInt8]) -> Bool {
    guard !origins.isEmpty, let origin = URLOrigin(url) else { return false }
    return origins.contains(origin)
  }
}
