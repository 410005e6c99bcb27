#if Queue
import ImageCaching
import ImageManaging
import ImagePrimitives
import ImageURLs
import WorkQueues

/// A failure that one worker remembers, as it goes to the others through the queue.
///
/// A version byte, the status in 16 bits (0: none) and the time in milliseconds since 1970 in 64, little-endian, then the kind's
/// name.
struct SharedFailure: Equatable {
  private static let version: UInt8 = 1
  private static let headByteCount = 11

  var kind: FailureKind
  var status: Int?
  var at: Timestamp

  init(kind: FailureKind, status: Int?, at: Timestamp) { (self.kind, self.status, self.at) = (kind, status, at) }

  /// nil for anything that ``encoded`` did not write.
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

/// Puts what other workers know to be bad on the blacklist of this one's cache.
struct SharedBlacklist {
  let context: LoadContext
  /// The cache; nil where nothing is remembered.
  let cache: ImageCache?
  let timeToLive: Duration?
  /// Whether the job has variants, which are then numbered from 1.
  let hasVariants: Bool

  /// Adds what `message` brings, so that a look-up finds it; what is there already, or is too old for the job, is passed over.
  ///
  /// A failure's time is when the run of the worker that found it began, since from then on it counts.
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
