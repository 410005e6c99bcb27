import ImagePrimitives

/// Which part of a body an answer to a request for a range brings.
enum AnsweredPart {
  /// All of it from the start: the server ignores ranges, or the image has changed since the part before. So is every answer that
  /// speaks of no range.
  case whole
  /// The part that was asked for, or the beginning of it, of so many bytes in all where that is told (RFC 9110, section 15.3.7).
  case part(Range<Int>, total: Int?)
  /// Nothing, since the body ends where the part begins (RFC 9110, section 15.5.17).
  case end(total: Int)
  /// What was not asked for.
  case mismatch(Failure)

  /// What an answer brings that has that status and those headers, to a request that goes on from `continuation`.
  init(status: Int, _ fields: AnswerFields, after continuation: BodyContinuation?) {
    let start = continuation?.start ?? 0
    let range = fields.bytes(.contentRange).flatMap { ContentRange($0) }
    switch status {
    case 206:
      // What is decoded of a later part of a coded body is none of the image.
      let isUsable = start == 0 || !fields.has(.contentEncoding)
      guard let range, let bytes = range.bytes, bytes.lowerBound == start, isUsable else {
        self = .mismatch(.otherRange)
        return
      }
      if let continuation, continuation.isContradicted(byTotal: range.total, fields) {
        self = .mismatch(.transient(.truncated, "the image changed after its first \(start) bytes had come"))
      } else {
        self = .part(bytes, total: range.total)
      }
    case 416:
      self = range?.total == start ? .end(total: start) : .whole
    default:
      self = .whole
    }
  }
}

extension Failure {
  /// A 206 that cannot be used: of several ranges, of another one than was asked for, or longer than its own.
  static let otherRange = Failure(
    .httpStatus,
    status: 206,
    message: "the server answered 206 Partial Content, but not with the range that was asked for"
  )
}
