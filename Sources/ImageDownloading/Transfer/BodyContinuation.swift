import ImagePrimitives

/// What is here of a body from which a further request goes on: a probe's whose judge needs more, or that of an answer which broke off
/// (RFC 9110, section 14.2).
///
/// A class, so that jobs stay small, few of which have one.
final class BodyContinuation {
  /// The bytes from the start, or from where the last chunk ended; empty once they have been taken.
  private(set) var prefix: [UInt8]
  /// How much of the body is here, with what left in chunks: where the request goes on.
  let start: Int
  /// How many bytes from the start a probe wants; nil: all.
  let wantedBytes: Int?
  /// How many requests of the attempt have brought some of them, for a probe.
  let requests: Int
  /// Whether chunks have left.
  let hasHandedOver: Bool
  /// The status of the answer that began the body.
  let status: Int
  /// That answer's headers.
  let fields: ResponseFields
  let totalBytes: Int?
  private let condition: String?
  private let kept: KeptBytes?

  /// A probe's, which goes on from `prefix` after an answer with those headers.
  init(_ prefix: [UInt8], wanting wantedBytes: Int, after requests: Int, totalBytes: Int?, status: Int, _ fields: ResponseFields)
  {
    self.prefix = prefix
    start = prefix.count
    self.wantedBytes = wantedBytes
    self.requests = requests
    self.totalBytes = totalBytes
    self.status = status
    self.fields = fields
    hasHandedOver = false
    condition = fields.rangeCondition
    kept = nil
  }

  /// Of a body that broke off after `start` bytes, the last of which are `prefix`; nil where the server cannot tell whether the rest
  /// is of the same version, or bytes of others fill what may be kept.
  init?(
    _ prefix: [UInt8],
    endingAt start: Int,
    hasHandedOver: Bool,
    totalBytes: Int?,
    status: Int,
    _ fields: ResponseFields,
    counting kept: KeptBytes
  ) {
    guard let condition = fields.rangeCondition, start > 0, kept.add(prefix.count) else { return nil }
    self.prefix = prefix
    self.start = start
    self.totalBytes = totalBytes
    self.hasHandedOver = hasHandedOver
    self.status = status
    self.fields = fields
    self.condition = condition
    self.kept = kept
    wantedBytes = nil
    requests = 0
  }

  deinit { kept?.remove(prefix.count) }

  var request: RangeRequest { RangeRequest(from: start, to: wantedBytes, condition: condition) }

  /// Forgets its bytes, which another has.
  func releasePrefix() {
    kept?.remove(prefix.count)
    prefix = []
  }

  /// Whether a part of that total and with those headers is of another version than the prefix.
  func isContradicted(byTotal total: Int?, _ other: ResponseFields) -> Bool {
    let differ = { (name: ResponseFields.Name) in
      guard let own = self.fields.bytes(name), let other = other.bytes(name) else { return false }
      return own != other
    }
    return differ(.etag) || differ(.lastModified) || totalBytes != nil && total != nil && totalBytes != total
  }
}

/// How many bytes wait in memory for requests that go on from them.
final class KeptBytes {
  /// What would be more is fetched again instead.
  private static let limit = 64 << 20

  private var count = 0

  /// False where that is too much.
  func add(_ bytes: Int) -> Bool {
    guard bytes <= Self.limit - count else { return false }
    count += bytes
    return true
  }

  func remove(_ bytes: Int) { count -= bytes }
}

extension ResponseFields {
  /// What tells a later request for a range whether the image is still the same, as `If-Range` may say it (RFC 9110, section
  /// 13.1.5): a strong entity tag or, where there is no tag at all, a date that is a second older than the answer's own.
  var rangeCondition: String? {
    let value: String?
    if let etag = last(.etag) {
      value = etag.hasPrefix("\"") ? etag : nil
    } else if let changed = bytes(.lastModified).flatMap(HTTPDate.time), let sent = bytes(.date).flatMap(HTTPDate.time),
      changed.advanced(by: .seconds(1)) <= sent
    {
      value = last(.lastModified)
    } else {
      value = nil
    }
    return value.flatMap { DownloadOptions.isValidHeader(name: "If-Range", value: $0) ? $0 : nil }
  }
}

/// When the beginning of a body is judged: a state machine that knows of lengths alone.
struct PrefixPlan {
  /// No judge gets more, and no probe fetches more.
  static let maximumBytes = 1 << 20
  /// So many requests a probe makes at most, which are enough for ``maximumBytes``.
  static let maximumRequests = maximumBytes / DownloadOptions.probeBytes
  /// What a judge sees first of a body that is wanted whole; later it sees at least so much more each time.
  private static let stepBytes = 512

  /// How much of the body is here when it is judged next, which is also all that a probe takes until then; nil where it is
  /// settled.
  private(set) var next: Int?
  private let isProbe: Bool

  /// For a body that is wanted whole.
  init(isJudged: Bool) {
    next = isJudged ? Self.stepBytes : nil
    isProbe = false
  }

  /// For a probe.
  init(probing continuation: BodyContinuation?) {
    next = continuation?.wantedBytes ?? DownloadOptions.probeBytes
    isProbe = true
  }

  /// Whatever comes, it is not judged again.
  mutating func settle() { next = nil }

  /// Has it judged again with `minimum` bytes, of which `count` are here: a probe takes more in steps of its first ones. Where
  /// that is too much, it is settled.
  mutating func extend(to minimum: Int, having count: Int) {
    let step = isProbe ? DownloadOptions.probeBytes : Self.stepBytes
    guard minimum <= Self.maximumBytes, count <= Self.maximumBytes - step else { return settle() }
    next = isProbe ? (max(minimum, count + 1) + step - 1) / step * step : max(minimum, count + step)
  }
}
