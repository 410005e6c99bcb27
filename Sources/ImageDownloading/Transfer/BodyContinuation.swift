import ImagePrimitives

/// What is here of a body from which a further request goes on: a probe's whose judge needs more, or that of an answer which broke off
/// (RFC 9110, section 14.2).
///
/// A class, so that jobs stay small, few of which have one.
final class BodyContinuation {
  /// How much of what is here is asked for again, so that the bytes themselves show a part of another version.
  static let seamBytes = 4096

  /// The bytes from the start, or from where the last chunk ended; empty once they have been taken.
  private(set) var prefix: [UInt8]
  /// How much of the body is here, with what left in chunks: where the body goes on.
  let start: Int
  /// The last of these bytes, which the request asks for again; empty for a probe.
  let seam: [UInt8]
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
    seam = []
  }

  /// Of a body that broke off after `start` bytes, the last of which are `prefix` and `seam`; nil where the server cannot tell whether
  /// the rest is of the same version, so little is here that the seam is no less, or bytes of others fill what may be kept.
  init?(
    _ prefix: [UInt8],
    endingAt start: Int,
    seam: [UInt8],
    hasHandedOver: Bool,
    totalBytes: Int?,
    status: Int,
    _ fields: ResponseFields,
    counting kept: KeptBytes
  ) {
    guard let condition = fields.rangeCondition, start > Self.seamBytes, seam.count == Self.seamBytes, kept.add(prefix.count)
    else {
      return nil
    }
    self.prefix = prefix
    self.start = start
    self.seam = seam
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

  /// Where the part begins that the request asks for.
  var partStart: Int { start - seam.count }

  var request: RangeRequest { RangeRequest(from: partStart, to: wantedBytes, condition: condition) }

  /// Forgets its bytes, which another has.
  func releasePrefix() {
    kept?.remove(prefix.count)
    prefix = []
  }

  /// Whether a part can be added to a body that is wanted whole.
  func canTake(_ bytes: Range<Int>, total: Int?, _ fields: ResponseFields) -> Bool {
    guard let whole = total ?? totalBytes, bytes.upperBound > start, bytes.upperBound <= whole else { return false }
    return isShownSame(byTotal: total, fields)
  }

  /// Whether a part of that total and with those headers is shown to be of the prefix's version, if its first bytes are the seam: by a
  /// validator, or by the length of the whole.
  func isShownSame(byTotal total: Int?, _ other: ResponseFields) -> Bool {
    let agree = { (name: ResponseFields.Name) in
      guard let own = self.fields.bytes(name), let other = other.bytes(name) else { return false }
      return own == other
    }
    if let total, total == totalBytes { return true }
    return fields.has(.etag) ? agree(.etag) : agree(.lastModified)
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
