import Base

extension EntryResult {
  /// A result with details.
  init(_ outcome: LoadOutcome, details: Details?) {
    self.init(outcome)
    if let details { self.details = details }
  }
}

extension EntryResult.Details {
  /// Details from their parts.
  init(
    failure: ImageFailure? = nil,
    isBlacklisted: Bool = false,
    finalURL: String? = nil,
    contentType: String? = nil,
    warnings: [String] = [],
    prefixChecksum: Checksum? = nil,
    sha256: [UInt8]? = nil,
    delivery: DeliveryFacts? = nil
  ) {
    self.init()
    (self.failure, self.isBlacklisted, self.finalURL, self.contentType) = (failure, isBlacklisted, finalURL, contentType)
    (self.warnings, self.prefixChecksum, self.sha256, self.delivery) = (warnings, prefixChecksum, sha256, delivery)
  }
}
