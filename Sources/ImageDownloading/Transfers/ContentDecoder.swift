import CCodings
import Base

/// Decodes the codings of a body as it arrives (RFC 9110, section 8.4), and detects whether they end properly.
///
/// libcurl could decode them too, but takes a truncated stream for a complete one.
final class ContentDecoder {
  /// Why the body can't be decoded.
  enum CodingError: Error {
    case damaged(String)
    /// The checksum or length after a stream doesn't match.
    case contradicted(String)
    /// It expands to more than any image would.
    case bomb
  }

  /// A body may expand to this size from anything.
  private static let freeBytes = 1 << 20
  /// Beyond it, the maximum ratio to the received bytes: about the best of deflate (RFC 1951), and more than images need.
  static let maximumRatio = 1000

  /// In the order of decoding.
  private let stages: [DecodingStage]
  private(set) var codedBytes = 0
  private(set) var error: CodingError?

  private static let kinds = [
    "gzip": CCODINGS_GZIP, "x-gzip": CCODINGS_GZIP, "deflate": CCODINGS_DEFLATE, "br": CCODINGS_BROTLI, "zstd": CCODINGS_ZSTD,
  ]

  /// Creates a decoder for those codings, the first of which was applied first; nil if none of them can be decoded, since clients take
  /// the bytes as they are then (Fetch standard, "handle content codings").
  init?(_ codings: [String]) {
    if codings.isEmpty { return nil }
    stages = codings.reversed().compactMap { Self.kinds[$0].flatMap(DecodingStage.init) }
    if stages.isEmpty { return nil }
  }

  /// Whether the coding can be decoded: its library is installed.
  static func decodes(_ coding: String) -> Bool { kinds[coding].map(ccodings_has) ?? false }

  /// Whether all streams have ended.
  var isAtEnd: Bool { error == nil && stages.allSatisfy(\.isAtEnd) }

  /// Whether bytes followed the end of a stream, which browsers ignore.
  var hasExcess: Bool { stages.contains(where: \.hasExcess) }

  /// Decodes `bytes` and passes pieces to `take` until that returns false. Returns whether more can be decoded.
  func decode(_ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    codedBytes += bytes.count
    return decode(bytes, stage: 0, take)
  }

  private func decode(_ bytes: UnsafeRawBufferPointer, stage index: Int, _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    guard index < stages.count else { return take(bytes) }
    let stage = stages[index]
    var rest = bytes
    repeat {
      let piece: UnsafeRawBufferPointer
      do throws(CodingError) {
        piece = try stage.next(&rest)
      } catch {
        self.error = error
        return false
      }
      if piece.isEmpty { return true }
      if stage.producedBytes > Self.freeBytes, stage.producedBytes / Self.maximumRatio > codedBytes {
        error = .bomb
        return false
      }
      if !decode(piece, stage: index + 1, take) { return false }
    } while true
  }
}

/// A stream of one coding. Of concatenated gzip members only the first counts, as for browsers.
private final class DecodingStage {
  private static let pieceBytes = 64 << 10

  private let output = UnsafeMutablePointer<UInt8>.allocate(capacity: pieceBytes)
  private let decoder: OpaquePointer
  private let kind: CCodingsKind
  private(set) var isAtEnd = false
  private(set) var hasExcess = false
  private(set) var producedBytes = 0

  init?(_ kind: CCodingsKind) {
    guard let decoder = ccodings_create(kind) else { return nil }
    self.decoder = decoder
    self.kind = kind
  }

  deinit {
    ccodings_free(decoder)
    output.deallocate()
  }

  /// Decodes and removes the next bytes of `input`. Returns at most one piece; empty if more input is needed.
  func next(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.CodingError) -> UnsafeRawBufferPointer {
    while !isAtEnd || startsNext(input) {
      let written = try step(&input)
      producedBytes += written
      if written > 0 { return UnsafeRawBufferPointer(start: output, count: written) }
      if input.isEmpty { break }
    }
    if !input.isEmpty { hasExcess = true }
    input = UnsafeRawBufferPointer(start: nil, count: 0)
    return input
  }

  /// Whether a further frame follows (RFC 8878, section 3.1): its format's magic number, or that of a frame to skip.
  private func startsNext(_ input: UnsafeRawBufferPointer) -> Bool {
    kind == CCODINGS_ZSTD && input.first.map { $0 == 0x28 || $0 & 0xF0 == 0x50 } == true
  }

  private func step(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.CodingError) -> Int {
    var next = input.bindMemory(to: UInt8.self).baseAddress
    var (left, written, error) = (input.count, 0, UnsafePointer<CChar>?.none)
    let status = ccodings_step(decoder, &next, &left, output, Self.pieceBytes, &written, &error)
    input = UnsafeRawBufferPointer(rebasing: input.suffix(left))
    if status == CCODINGS_INVALID {
      let detail = error.map { String(cString: $0) } ?? "invalid data"
      throw ["incorrect data check", "incorrect length check"].contains(detail) ? .contradicted(detail) : .damaged(detail)
    }
    isAtEnd = status == CCODINGS_END
    return written
  }
}
