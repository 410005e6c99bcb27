/// How deeply the bytes of an image have been proven good; a deeper proof includes the shallower ones.
public enum ProofDepth: UInt8, Sendable, CaseIterable, Comparable {
  /// Taken as they came.
  case none
  /// The header was read: format, size.
  case header
  /// Every pixel was decoded.
  case full

  /// The name in job files, such as `header`.
  public var name: String { "\(self)" }

  /// Shallower proofs are less.
  public static func < (left: ProofDepth, right: ProofDepth) -> Bool { left.rawValue < right.rawValue }
}

/// How a server's declared content type fits the format that the bytes have.
public enum ContentTypeMatch: UInt8, Sendable {
  /// It is the format's registered media type.
  case exact
  /// It is a usual alias, such as `image/jpg`.
  case alias
  /// It says nothing, such as `application/octet-stream`.
  case generic
  /// There was none.
  case absent
  /// It names another format, or no image at all.
  case mismatch
}
