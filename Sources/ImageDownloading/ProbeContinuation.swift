import ImagePrimitives

/// What a probe has of an image whose judge needs more: the next request of its attempt goes on from here.
///
/// A class, so that jobs stay small, few of which have one.
final class ProbeContinuation {
  /// The bytes from the start.
  let prefix: [UInt8]
  /// How many of them are wanted.
  let wantedBytes: Int
  /// How many requests of the attempt have brought some of them.
  let requests: Int
  private let totalBytes: Int?
  private let etag: ArraySlice<UInt8>?
  private let lastModified: ArraySlice<UInt8>?
  private let condition: String?

  /// Goes on from `prefix`, which an answer with those headers ended.
  init(_ prefix: [UInt8], wanting wantedBytes: Int, after requests: Int, totalBytes: Int?, _ fields: AnswerFields) {
    self.prefix = prefix
    self.wantedBytes = wantedBytes
    self.requests = requests
    self.totalBytes = totalBytes
    etag = fields.bytes(.etag)
    lastModified = fields.bytes(.lastModified)
    condition = fields.rangeCondition
  }

  var request: RangeRequest { RangeRequest(prefix.count..<wantedBytes, condition: condition) }

  /// Whether a part of that total and with those headers is of another version than the prefix.
  func isContradicted(byTotal total: Int?, _ fields: AnswerFields) -> Bool {
    let differ = { (own: ArraySlice<UInt8>?, other: ArraySlice<UInt8>?) in own != nil && other != nil && own != other }
    return differ(etag, fields.bytes(.etag)) || differ(lastModified, fields.bytes(.lastModified))
      || totalBytes != nil && total != nil && totalBytes != total
  }
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
