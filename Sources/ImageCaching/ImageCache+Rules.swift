public import ImagePrimitives

extension EntryHead {
  /// What the record of an image would say that is kept in memory only: stored then, with every pixel decoded.
  public init(
    storedAt: Timestamp,
    freshness: Freshness,
    format: ImageFormat?,
    width: UInt32,
    height: UInt32,
    frames: UInt32,
    bodySize: UInt64,
    checksum: Checksum,
    hasWarnings: Bool = false,
    contentTypeMatch: ContentTypeMatch
  ) {
    self.init(
      storedAt: storedAt,
      accessedAt: storedAt,
      format: format,
      width: width,
      height: height,
      frames: frames,
      bodySize: bodySize,
      checksum: checksum,
      proof: .full,
      hasWarnings: hasWarnings,
      contentTypeMatch: contentTypeMatch,
      status: 200,
      isBlob: false,
      hasVary: false,
      storedFreshness: StoredFreshness(freshness),
      lifetimeMilliseconds: nil,
      revision: 0,
      blobFolder: 0
    )
  }
}

extension ImageCache {
  /// Whether an entry of that head is too old at `now` by the rules of this cache, `minFresh` counted.
  public func isExpired(_ head: EntryHead, at now: Timestamp) -> Bool { expiry.isExpired(head, at: now) }
}
