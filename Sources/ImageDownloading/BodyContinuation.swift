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
  let fields: AnswerFields
  let totalBytes: Int?
  private let condition: String?
  private let kept: KeptBytes?

  /// A probe's, which goes on from `prefix` after an answer with those headers.
  init(_ prefix: [UInt8], wanting wantedBytes: Int, after requests: Int, totalBytes: Int?, status: Int, _ fields: AnswerFields) {
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
    _ fields: AnswerFields,
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
  func isContradicted(byTotal total: Int?, _ other: AnswerFields) -> Bool {
    let differ = { (name: AnswerFields.Name) in
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

extension AnswerFields {
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
