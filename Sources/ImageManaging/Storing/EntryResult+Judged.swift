import ImageCaching
import ImageDownloading
import Base

extension EntryResult {
  init(knownBad known: BlacklistHead) {
    let failure = ImageFailure(known.kind, status: known.status, message: "blacklisted, not requested: \(known.reason)")
    self.init(.blacklisted, failure: failure, isBlacklisted: true)
  }

  /// The result for a URL that an earlier attempt of the run has requested.
  init(failedBefore known: BlacklistHead) {
    let failure = ImageFailure(known.kind, status: known.status, message: known.reason)
    self.init(.failed, failure: failure, isBlacklisted: true)
  }

  /// A hit decided by its record, by the rules of `cache`.
  init(_ outcome: LoadOutcome, head: EntryHead, in cache: ImageCache?, isTransformed: Bool = false) {
    self.init(outcome)
    self.isTransformed = isTransformed
    add(head)
    freshUntil = cache?.expiry.end(of: head)
  }

  /// A hit whose body was read.
  init(_ outcome: LoadOutcome, copy: CachedCopy, verified: VerifiedImage, body: CachedProof.Body?, sha256: [UInt8]?) {
    switch copy.source {
    case .entry(let cache, _, _, let head, _): self.init(outcome, head: head, in: cache)
    case .memory(let original): self.init(outcome, head: original.known.head, in: nil)
    case .file: self.init(outcome)
    }
    image = verified.image
    isTransformed = copy.isTransformed
    if let body {
      checksum = body.checksum
      bytes = UInt64(clamping: body.byteCount)
    }
    if !verified.warnings.isEmpty || sha256 != nil { (details.warnings, details.sha256) = (verified.warnings, sha256) }
  }

  /// The result of a transfer that brought no image.
  init(_ outcome: LoadOutcome, summary: TransferSummary) {
    self.init(outcome)
    add(summary)
  }

  mutating func add(_ summary: TransferSummary) {
    attempts = UInt32(clamping: summary.attempts)
    receivedBytes = UInt64(clamping: summary.receivedBytes)
    durationNanoseconds = summary.durationNanoseconds
    waitedNanoseconds = summary.waitedNanoseconds
  }

  /// Adds the record's properties of the image.
  mutating func add(_ head: EntryHead) {
    image = head.image
    bytes = head.bodySize
    checksum = head.checksum
  }

  /// The result for a received image.
  init(_ outcome: LoadOutcome, _ judged: borrowing Judged) {
    let response = judged.response
    self.init(outcome, summary: response.summary)
    status = UInt16(clamping: response.status)
    bytes = UInt64(clamping: response.totalBytes ?? 0)
    checksum = judged.checksum
    if let verified = judged.verified { image = verified.image }
    var details = Details()
    details.finalURL = response.shownFinalURL
    details.contentType = response.contentType
    details.warnings = (judged.verified?.warnings ?? []) + response.codingWarnings
    details.warnings += [response.remoteCache?.warning].compactMap(\.self)
    details.prefixChecksum = judged.prefixChecksum
    details.sha256 = judged.sha256
    details.delivery = response.delivery
    self.details = details
    remoteCache = response.remoteCache?.status
  }

  /// Adds the status of caches on the way for a revalidated image.
  mutating func add(_ remoteCache: RemoteCacheResponse?) {
    guard let remoteCache else { return }
    self.remoteCache = remoteCache.status
    if let warning = remoteCache.warning { details.warnings.append(warning) }
  }

  /// Adds how a 304 was delivered.
  mutating func addDelivery(of response: DownloadResponse) {
    status = UInt16(clamping: response.status)
    guard response.delivery != nil || response.finalURLBytes != nil else { return }
    details.finalURL = response.shownFinalURL ?? details.finalURL
    details.delivery = response.delivery ?? details.delivery
  }

  /// The same result for an entry that joined: the cost counts for the first entry only.
  var shared: EntryResult {
    var copy = self
    copy.isShared = true
    copy.attempts = 0
    copy.receivedBytes = 0
    copy.durationNanoseconds = 0
    copy.waitedNanoseconds = 0
    return copy
  }
}

extension DownloadResponse {
  /// The URL that redirects led to, with credentials masked.
  fileprivate var shownFinalURL: String? {
    finalURLBytes.map { String(decoding: $0.withRawBytes(maskingCredentials), as: UTF8.self) }
  }
}

extension EntryHead {
  /// The record of a verified image, to be stored.
  init(_ verified: VerifiedImage, checksum: Checksum, status: Int = 200, freshness: Freshness = Freshness()) {
    self.init(
      image: verified.image,
      proof: verified.proof,
      hasWarnings: verified.hasDecoderWarnings,
      contentTypeMatch: verified.contentTypeMatch,
      status: UInt16(clamping: status),
      checksum: checksum,
      freshness: freshness
    )
  }

  /// The record that an image in memory would have, with every pixel decoded.
  init(
    _ verified: VerifiedImage,
    byteCount: Int,
    checksum: Checksum,
    storedAt: Timestamp,
    freshness: Freshness = Freshness()
  ) {
    self.init(verified, checksum: checksum, freshness: freshness)
    (self.storedAt, accessedAt, proof, bodySize) = (storedAt, storedAt, .full, UInt64(clamping: byteCount))
  }
}

extension NewProof {
  init(_ verified: VerifiedImage) {
    self.init(depth: verified.proof, image: verified.image, hasWarnings: verified.hasDecoderWarnings)
  }
}

extension BlacklistHead {
  fileprivate var reason: String { status.map { "the server responded with \($0)" } ?? kind.name }
}
