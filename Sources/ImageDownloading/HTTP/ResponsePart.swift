import ImagePrimitives

/// Which part of a body an answer to a request for a range brings.
enum ResponsePart {
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
  init(status: Int, _ fields: ResponseFields, after continuation: BodyContinuation?) {
    let start = continuation?.partStart ?? 0
    let range = fields.bytes(.contentRange).flatMap { ContentRange($0) }
    switch status {
    case 206:
      // What is decoded of a later part of a coded body is none of the image.
      let isUsable = start == 0 || fields.codings.isEmpty
      guard let range, let bytes = range.bytes, bytes.lowerBound == start, isUsable else {
        self = .mismatch(.otherRange)
        return
      }
      if let continuation, continuation.isContradicted(byTotal: range.total, fields) {
        self = .mismatch(.transient(.truncated, "the image changed after its first \(continuation.start) bytes had come"))
      } else if let continuation, continuation.wantedBytes == nil, !continuation.canTake(bytes, total: range.total, fields) {
        self = .mismatch(.otherRange)
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

/// The value of a `Content-Range` header in bytes (RFC 9110, section 14.4).
struct ContentRange: Equatable {
  /// Which bytes of the whole body the answer brings; nil where it says that it brings none.
  var bytes: Range<Int>?
  /// The length of the whole body; nil where it is not told.
  var total: Int?

  /// Such as `bytes 0-65535/200000`, `bytes 0-65535/*` and, of a 416, `bytes */200000`; nil for what is none of these.
  init?(_ value: ArraySlice<UInt8>) {
    let unit = value.prefix { !$0.isASCIIWhitespace }
    guard unit.elementsEqual("bytes".utf8, by: { $0.asciiLowercased == $1 }) else { return nil }
    let parts = value[unit.endIndex...].drop(while: \.isASCIIWhitespace).split(
      separator: UInt8(ascii: "/"),
      maxSplits: 1,
      omittingEmptySubsequences: false
    )
    guard parts.count == 2 else { return nil }
    let star = { (part: ArraySlice<UInt8>) in part.elementsEqual("*".utf8) }
    if !star(parts[1]) {
      guard let total = Self.number(parts[1]) else { return nil }
      self.total = total
    }
    if star(parts[0]) { return }
    let ends = parts[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]) else { return nil }
    guard first <= last, last < total ?? .max else { return nil }
    bytes = first..<last + 1
  }

  /// Digits alone, of what an `Int` can hold.
  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    guard !digits.isEmpty, digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
    return Int(String(decoding: digits, as: UTF8.self))
  }
}

/// What makes a request one for a part of a body (RFC 9110, sections 13.1.5 and 14.2).
struct RangeRequest {
  /// The first request of each probe.
  static let first = RangeRequest(from: 0, to: DownloadOptions.probeBytes)

  private static let names = ["Range", "If-Range", "Accept-Encoding"]
  private let fields: [HeaderField]

  /// Asks for the bytes from `start` up to `end`, or to the last, or else for the whole body where `condition` no longer tells its version.
  /// Not coded: a range of a coded body is none of the image.
  init(from start: Int, to end: Int?, condition: String? = nil) {
    fields =
      [
        HeaderField("Range", "bytes=\(start)-\(end.map { String($0 - 1) } ?? "")"),
        HeaderField("Accept-Encoding", DownloadOptions.acceptEncoding),
      ] + (condition.map { [HeaderField("If-Range", $0)] } ?? [])
  }

  /// `headers` with its own, in place of any others of their names.
  func added(to headers: [HeaderField]) -> [HeaderField] {
    headers.filter { header in !Self.names.contains { $0.equalsIgnoringCase(header.name) } } + fields
  }
}
