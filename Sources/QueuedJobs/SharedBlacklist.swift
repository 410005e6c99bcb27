#if Queue
import ImageCaching
import ImageManaging
import ImagePrimitives
import ImageURLs
import WorkQueues

/// A failure that one worker remembers, in the form that the queue passes to the others.
///
/// A version byte, the status in 16 bits (0: none) and the time in milliseconds since 1970 in 64, little-endian, then
/// the kind's name.
struct SharedFailure: Equatable {
  private static let version: UInt8 = 1
  private static let headByteCount = 11

  var kind: FailureKind
  var status: Int?
  var at: Timestamp

  init(kind: FailureKind, status: Int?, at: Timestamp) { (self.kind, self.status, self.at) = (kind, status, at) }

  /// nil unless written by ``encoded``.
  init?(decoding bytes: [UInt8]) {
    guard bytes.count > Self.headByteCount, bytes[0] == Self.version,
      let name = String(validating: bytes[Self.headByteCount...], as: UTF8.self), let kind = FailureKind(name: name)
    else { return nil }
    let status = Int(bytes[1]) | Int(bytes[2]) << 8
    guard status == 0 || (100...999).contains(status) else { return nil }
    let time = bytes[3..<Self.headByteCount].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    self.init(kind: kind, status: status == 0 ? nil : status, at: Timestamp(milliseconds: Int64(bitPattern: time)))
  }

  var encoded: [UInt8] {
    var bytes = [Self.version]
    withUnsafeBytes(of: UInt16(clamping: status ?? 0).littleEndian) { bytes.append(contentsOf: $0) }
    withUnsafeBytes(of: at.milliseconds.littleEndian) { bytes.append(contentsOf: $0) }
    return bytes + Array(kind.name.utf8)
  }
}

/// Adds failures known to other workers to the blacklist of this worker's cache.
struct SharedBlacklist {
  let context: LoadContext
  /// The cache; nil if nothing is remembered.
  let cache: ImageCache?
  let timeToLive: Duration?
  /// Whether the job has variants, which are then numbered from 1.
  let hasVariants: Bool

  /// Adds the failures in `message`, so that lookups find them; skips those that are known, or too old for the job.
  ///
  /// The time of a failure is the start of the run that found it, since it counts from then on.
  func take(_ message: QueuedMessage) throws(CacheError) {
    guard let cache else { return }
    for known in message.knownBad where message.entries.indices.contains(known.entry) {
      guard let failure = SharedFailure(decoding: known.value), !isOver(failure) else { continue }
      let url = String(decoding: message.bytes[message.entries[known.entry].url], as: UTF8.self)
      let identities: [[UInt8]]
      do throws(InvalidURL) {
        identities = try ImageIdentity.identities(of: url, by: context)
      } catch {
        continue
      }
      let variant = known.variant + (hasVariants ? 1 : 0)
      guard identities.indices.contains(variant) else { continue }
      try add(failure, of: url, identities[variant], to: cache)
    }
  }

  private func isOver(_ failure: SharedFailure) -> Bool {
    timeToLive.map { failure.at.advanced(by: $0) <= context.startedAt } ?? false
  }

  private func add(
    _ failure: SharedFailure,
    of url: String,
    _ identity: [UInt8],
    to cache: ImageCache
  ) throws(CacheError) {
    try identity.withRawBytes { identity throws(CacheError) in
      let key = CacheKey(identity: identity)
      guard try cache.blacklistEntry(key, identity: identity) == nil else { return }
      try Array(maskingCredentials(url).utf8).withRawBytes { shown throws(CacheError) in
        let entry = NewBlacklistEntry(key: key, identity: identity, shownURL: shown, kind: failure.kind, status: failure.status)
        let start = min(failure.at, context.startedAt)
        try cache.write { (writer) throws(CacheError) in _ = try writer.blacklist(entry, runStart: start) }
      }
    }
  }
}
#endif
