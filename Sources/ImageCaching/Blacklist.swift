public import ImagePrimitives

/// What the blacklist tells of a URL that is known to be bad.
public struct BlacklistHead: Sendable, Hashable {
  /// How it failed last.
  public let kind: FailureKind
  /// The HTTP status of the last failure, where there was one.
  public let status: Int?
  /// When it failed first, since it was put on the list.
  public let firstAt: Timestamp
  /// When it failed last.
  public let lastAt: Timestamp
  /// How often it failed.
  public let count: UInt32
  /// When it may be asked for again; nil: never.
  public let expiresAt: Timestamp?

  /// Whether it may be asked for again.
  func isExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }
}

/// A failure to be put on the blacklist; its time is that of the transaction. Credentials must be gone from all of it.
public struct NewBlacklistEntry {
  /// The hash of ``identity``.
  public var key: CacheKey
  /// The whole identity; valid while the entry is stored.
  public var identity: UnsafeRawBufferPointer
  /// The URL for people to read, secrets masked; valid while the entry is stored.
  public var url: UnsafeRawBufferPointer
  /// How it failed.
  public var kind: FailureKind
  /// The HTTP status, where the server gave one.
  public var status: Int?

  /// A failure to be remembered.
  public init(key: CacheKey, identity: UnsafeRawBufferPointer, url: UnsafeRawBufferPointer, kind: FailureKind, status: Int? = nil)
  {
    self.key = key
    self.identity = identity
    self.url = url
    self.kind = kind
    self.status = status
  }
}

/// One entry of the blacklist with all that its record tells.
public struct BlacklistRecord: Sendable, Hashable {
  /// The hash of ``identity``.
  public let key: CacheKey
  /// How and when it failed.
  public let head: BlacklistHead
  /// The whole identity.
  public let identity: [UInt8]
  /// The URL, secrets masked.
  public let url: [UInt8]
}
