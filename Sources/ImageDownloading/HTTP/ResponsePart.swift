import Base

/// The part of a body in a response to a range request.
enum ResponsePart {
  /// The whole body: the server ignores ranges, or the image has changed since the previous part. Every response without a range
  /// counts as this.
  case whole
  /// The requested part or its beginning, and the body's length if it is declared (RFC 9110, section 15.3.7).
  case part(Range<Int>, total: Int?)
  /// Nothing, since the body ends where the part begins (RFC 9110, section 15.5.17).
  case end(total: Int)
  /// Something that wasn't requested.
  case mismatch(ImageFailure)

  /// The part in a response with that status and those headers to a request that resumes `continuation`.
  init(status: Int, _ fields: ResponseFields, after continuation: BodyContinuation?) {
    let start = continuation?.partStart ?? 0
    let range = fields.bytes(.contentRange).flatMap { ContentRange($0) }
    switch status {
    case 206:
      // A later part of a coded body can't be decoded.
      let isUsable = start == 0 || !fields.codings.contains(where: ContentDecoder.decodes)
      guard let range, let bytes = range.bytes, bytes.lowerBound == start, isUsable else {
        self = .mismatch(.otherRange)
        return
      }
      if let continuation, continuation.isContradicted(byTotal: range.total, fields) {
        self = .mismatch(.transient(.truncated, "the image changed after its first \(continuation.start) bytes were received"))
      } else if let continuation, continuation.wantedBytes == nil, !continuation.canTake(bytes, total: range.total, fields) {
        self = .mismatch(.otherRange)
      } else {
        self = .part(bytes, total: range.total)
      }
    // To the first range, only a request without one shows that the body is empty.
    case 416 where start > 0 && range?.total == start:
      self = .end(total: start)
    default:
      self = .whole
    }
  }
}

extension ImageFailure {
  /// A 206 that can't be used: several ranges, another one than requested, or longer than it declares.
  static let otherRange = ImageFailure(
    .httpStatus,
    status: 206,
    message: "the server responded with 206 Partial Content, but not with the requested range"
  )
}

/// The value of a `Content-Range` header in bytes (RFC 9110, section 14.4).
struct ContentRange: Equatable {
  /// The range of the whole body in the response; nil if it has none.
  var bytes: Range<Int>?
  /// The length of the whole body; nil if it isn't declared.
  var total: Int?

  /// Parses `bytes 0-65535/200000`, `bytes 0-65535/*` or, of a 416, `bytes */200000`; nil for anything else.
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

  /// Parses digits only; nil if an `Int` can't hold the number.
  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    guard !digits.isEmpty, digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
    return Int(String(decoding: digits, as: UTF8.self))
  }
}

/// The headers that request a part of a body (RFC 9110, sections 13.1.5 and 14.2).
struct RangeRequest {
  /// The first request of each probe.
  static let first = RangeRequest(from: 0, to: DownloadOptions.probeBytes)
  /// Requests the whole body without compression, whatever range other headers ask for.
  static let whole = RangeRequest([])

  private static let names = ["Range", "If-Range", "Accept-Encoding"]
  private let fields: [HeaderField]

  /// Requests the bytes from `start` up to `end`, or to the last one, or the whole body if its version no longer matches `condition`.
  /// Without compression, since a range of a coded body can't be decoded.
  init(from start: Int, to end: Int?, condition: String? = nil) {
    self.init(
      [HeaderField("Range", "bytes=\(start)-\(end.map { String($0 - 1) } ?? "")")]
        + (condition.map { [HeaderField("If-Range", $0)] } ?? [])
    )
  }

  private init(_ range: [HeaderField]) {
    fields = range + [HeaderField("Accept-Encoding", DownloadOptions.acceptEncoding)]
  }

  /// `headers` with its own fields, which replace others of the same names.
  func added(to headers: [HeaderField]) -> [HeaderField] {
    headers.filter { header in !Self.names.contains { $0.equalsIgnoringCase(header.name) } } + fields
  }
}
