import ImagePrimitives

extension BoundShare {
  /// The shares of several runs as of one that took as long as all of them: each counts by its duration, which has to be known of every
  /// one, as have the shares.
  static func merged(_ ends: [RunEnd]) -> [BoundShare] {
    guard ends.allSatisfy({ !$0.boundShares.isEmpty && $0.duration > .zero }) else { return [] }
    let whole = ends.reduce(0) { $0 + $1.duration.inSeconds }
    var fractions: [String: Double] = [:]
    for end in ends {
      for share in end.boundShares { fractions[share.name, default: 0] += share.fraction * end.duration.inSeconds / whole }
    }
    return fractions.map { BoundShare(name: $0, fraction: min(1, $1)) }
      .sorted { ($1.fraction, $0.name) < ($0.fraction, $1.name) }
  }
}
