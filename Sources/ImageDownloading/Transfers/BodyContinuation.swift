import Base
import Synchronization

/// The received part of a body that a further request continues: a probe's, or one that broke off (RFC 9110, section 14.2).
///
/// A class, so that jobs stay small: few have one.
final class BodyContinuation {
  /// How many received bytes are requested again, to detect a part of another version by its bytes.
  static let seamBytes = 4096

  /// The bytes from the start or since the last chunk; empty once they have been taken.
  private(set) var prefix: [UInt8]
  /// The parts of a probed body after the prefix.
  private(set) var pieces: [SparseFile.Piece] = []
  /// The offset where the body continues, after bytes that were delivered in chunks; a probe may omit some before it.
  let start: Int
  /// The last of these bytes, which the request repeats; empty for a probe.
  private(set) var seam: [UInt8] = []
  /// Whether the part doesn't follow the prefix.
  private(set) var leavesGap = false
  /// How many bytes from the start a probe wants; nil: all.
  private(set) var wantedBytes: Int?
  /// How many requests a probe's attempt has made for them.
  private(set) var requests = 0
  /// Whether chunks were delivered.
  private(set) var hasHandedOver = false
  /// The status of the response that began the body.
  let status: Int
  let fields: ResponseFields
  let totalBytes: Int?
  private let condition: String?
  private var kept: KeptBytes?

  private init(_ prefix: [UInt8], start: Int, of transfer: Transfer) {
    self.prefix = prefix
    self.start = start
    totalBytes = transfer.response.totalBytes
    status = transfer.body.continuation?.status ?? transfer.status
    fields = transfer.fields
    condition = fields.rangeCondition
  }

  /// Creates the continuation of a probe that has received `file`.
  convenience init(_ file: SparseFile, wanting range: Range<Int>, after requests: Int, of transfer: Transfer) {
    self.init(file.prefix, start: range.lowerBound, of: transfer)
    pieces = file.pieces
    leavesGap = range.lowerBound != file.prefix.count
    wantedBytes = range.upperBound
    self.requests = requests
  }

  /// Creates the continuation of a body that broke off, of which `seam` is the end. Nil if the server can't detect another version, if
  /// too few bytes were received, or if bytes of other continuations use the memory limit.
  convenience init?(of transfer: Transfer, endingIn seam: [UInt8], counting kept: KeptBytes) {
    self.init(transfer.takeBody(), start: transfer.body.count, of: transfer)
    guard condition != nil, start > Self.seamBytes, seam.count == Self.seamBytes, kept.add(prefix.count) else { return nil }
    self.kept = kept
    self.seam = seam
    hasHandedOver = transfer.body.hasHandedOver
  }

  deinit { kept?.remove(prefix.count) }

  var partStart: Int { start - seam.count }

  var request: RangeRequest { RangeRequest(from: partStart, to: wantedBytes, condition: condition) }

  /// Releases its bytes, which were copied.
  func releasePrefix() {
    kept?.remove(prefix.count)
    prefix = []
  }

  /// Whether a part can be appended to a body that is requested whole.
  func canTake(_ bytes: Range<Int>, total: Int?, _ other: ResponseFields) -> Bool {
    guard let whole = total ?? totalBytes, bytes.upperBound > start, bytes.upperBound <= whole else { return false }
    // A validator or the total length shows the version, provided that the part's first bytes equal the seam.
    return total != nil && total == totalBytes || agrees(other, in: fields.has(.etag) ? .etag : .lastModified) == true
  }

  /// Whether a part with that total and those headers is of another version than the prefix.
  func isContradicted(byTotal total: Int?, _ other: ResponseFields) -> Bool {
    agrees(other, in: .etag) == false || agrees(other, in: .lastModified) == false
      || totalBytes != nil && total != nil && totalBytes != total
  }

  /// Whether both responses have the same value of a header; nil if one has none.
  private func agrees(_ other: ResponseFields, in name: ResponseFields.Name) -> Bool? {
    guard let own = fields.bytes(name), let other = other.bytes(name) else { return nil }
    return own == other
  }
}

/// The number of bytes in memory that wait for requests to continue them.
///
/// The scheduler adds; the thread that drops a continuation removes.
final class KeptBytes: Sendable {
  /// Bytes beyond this are fetched again instead.
  private static let limit = 64 << 20

  private let count = Atomic(0)

  func add(_ bytes: Int) -> Bool {
    guard bytes <= Self.limit - count.load(ordering: .relaxed) else { return false }
    count.add(bytes, ordering: .relaxed)
    return true
  }

  func remove(_ bytes: Int) { count.subtract(bytes, ordering: .relaxed) }
}

extension ResponseFields {
  /// The `If-Range` condition (RFC 9110, section 13.1.5): a strong entity tag or else a date a second before the response.
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

/// When the beginning of a body is judged: a state machine over lengths only.
struct PrefixPlan {
  /// The maximum size of a judged prefix of a body that is requested whole. From there on, the steps of a probe grow.
  static let maximumBytes = 1 << 20
  /// The maximum number of requests of a probe, besides one for all that is missing.
  static let maximumRequests = maximumBytes / DownloadOptions.probeBytes
  /// The size of the first judged prefix of a body that is requested whole, and the minimum growth between judgements.
  private static let stepBytes = 512

  /// The number of bytes at the next judgement, which also limits a probe until then; nil if there are no more judgements.
  private(set) var next: Int?
  private let isProbe: Bool

  /// Creates the plan for a body that is requested whole.
  init(isJudged: Bool) {
    next = isJudged ? Self.stepBytes : nil
    isProbe = false
  }

  init(probing continuation: BodyContinuation?) {
    next = continuation?.wantedBytes ?? DownloadOptions.probeBytes
    isProbe = true
  }

  mutating func settle() { next = nil }

  /// Plans the next judgement at `minimum` bytes, with `count` received; a probe grows in steps of its first size. For a body that is
  /// requested whole, ends the judgements if that is too much.
  mutating func extend(to minimum: Int, having count: Int) {
    if isProbe {
      let step = DownloadOptions.probeBytes
      // Larger steps limit the cost of judging long headers again and again.
      let least = count < Self.maximumBytes ? count + 1 : count + count / 2
      next = (min(max(minimum, least), .max - step) + step - 1) / step * step
    } else {
      guard minimum <= Self.maximumBytes, count <= Self.maximumBytes - Self.stepBytes else { return settle() }
      next = max(minimum, count + Self.stepBytes)
    }
  }
}

/// The part of a body in a response to a range request.
enum ResponsePart {
  /// The whole body: the server ignores ranges, or the image has changed. Every response without a range counts as this.
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
