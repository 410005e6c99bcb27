import CCodings
import CZlib
import Base

/// Decodes the codings of a body as it arrives (RFC 9110, section 8.4), and detects whether they end properly.
///
/// libcurl could decode them too, but takes a truncated stream for a complete one.
final class ContentDecoder {
  /// Why the body can't be decoded.
  enum CodingError: Error {
    /// The data is invalid.
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
  /// The number of coded bytes received.
  private(set) var codedBytes = 0
  private(set) var error: CodingError?

  /// Creates a decoder for those codings, the first of which was applied first; nil if none of them can be decoded, since clients take
  /// the bytes as they are then (Fetch standard, "handle content codings").
  init?(_ codings: [String]) {
    stages = codings.reversed().compactMap(Self.stage)
    if stages.isEmpty { return nil }
  }

  private static func stage(_ coding: String) -> DecodingStage? {
    switch coding {
    case "gzip", "x-gzip": Inflater(isGzip: true)
    case "deflate": Inflater(isGzip: false)
    case "br": LoadedStage(CCODINGS_BROTLI)
    case "zstd": LoadedStage(CCODINGS_ZSTD)
    default: nil
    }
  }

  /// Whether the coding can be decoded.
  static func decodes(_ coding: String) -> Bool {
    switch coding {
    case "gzip", "x-gzip", "deflate": true
    case "br": ccodings_has(CCODINGS_BROTLI)
    case "zstd": ccodings_has(CCODINGS_ZSTD)
    default: false
    }
  }

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

/// A stream of one coding.
private class DecodingStage {
  private static let pieceBytes = 64 << 10

  let output = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
  fileprivate(set) var isAtEnd = false
  private(set) var hasExcess = false
  private(set) var producedBytes = 0

  deinit { output.deallocate() }

  /// Decodes and removes the next bytes of `input`. Returns at most one piece; empty if more input is needed.
  final func next(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.CodingError) -> UnsafeRawBufferPointer {
    while !isAtEnd || startsNext(input) {
      let written = try step(&input)
      producedBytes += written
      if written > 0 { return UnsafeRawBufferPointer(rebasing: output[..<written]) }
      if input.isEmpty { break }
    }
    if !input.isEmpty { hasExcess = true }
    input = UnsafeRawBufferPointer(start: nil, count: 0)
    return input
  }

  /// Whether a further stream follows the first.
  func startsNext(_ input: UnsafeRawBufferPointer) -> Bool { false }

  /// Returns the number of bytes written.
  func step(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.CodingError) -> Int { 0 }
}

/// A stream of a library that is loaded when it is first needed.
private final class LoadedStage: DecodingStage {
  private let decoder: OpaquePointer
  private let kind: CCodingsKind

  init?(_ kind: CCodingsKind) {
    guard let decoder = ccodings_create(kind) else { return nil }
    self.decoder = decoder
    self.kind = kind
  }

  deinit { ccodings_free(decoder) }

  /// Whether a frame follows (RFC 8878, section 3.1): its format's magic number, or that of a frame to skip.
  override func startsNext(_ input: UnsafeRawBufferPointer) -> Bool {
    kind == CCODINGS_ZSTD && input.first.map { $0 == 0x28 || $0 & 0xF0 == 0x50 } == true
  }

  override func step(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.CodingError) -> Int {
    var next = input.bindMemory(to: UInt8.self).baseAddress
    var (left, written, error) = (input.count, 0, UnsafePointer<CChar>?.none)
    let bytes = output.bindMemory(to: UInt8.self)
    let status = ccodings_step(decoder, &next, &left, bytes.baseAddress!, bytes.count, &written, &error)
    input = UnsafeRawBufferPointer(rebasing: input.suffix(left))
    if status == CCODINGS_INVALID { throw .damaged(error.map { String(cString: $0) } ?? "invalid data") }
    isAtEnd = status == CCODINGS_END
    return written
  }
}

/// A zlib stream. Of concatenated gzip members only the first counts, as for browsers.
private final class Inflater: DecodingStage {
  // zlib keeps the address of its stream.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private var hasBegun = false
  /// The first byte of `deflate`, which together with the second identifies zlib's format.
  private var firstByte: UInt8?
  private let isGzip: Bool

  init(isGzip: Bool) {
    self.isGzip = isGzip
    stream.initialize(to: z_stream())
  }

  deinit {
    if hasBegun { inflateEnd(stream) }
    stream.deallocate()
  }

  override func step(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.CodingError) -> Int {
    guard !hasBegun else { return try inflate(&input) }
    if !isGzip, firstByte == nil, let first = input.first {
      firstByte = first
      input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
    }
    guard let second = input.first else { return 0 }
    try begin(second)
    return try inflate(&input)
  }

  /// Starts the stream; `deflate` is zlib's format (RFC 9110, section 8.4.1.2), but some servers send raw deflate data.
  private func begin(_ second: UInt8) throws(ContentDecoder.CodingError) {
    let first = firstByte ?? 0
    let isZlib = first & 15 == 8 && (Int(first) << 8 | Int(second)) % 31 == 0
    let window: Int32 = isGzip ? 15 + 16 : isZlib ? 15 : -15
    guard inflateInit2_(stream, window, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      throw .damaged("zlib is out of memory")
    }
    hasBegun = true
    guard !isGzip else { return }
    let rest = withUnsafeBytes(of: first) { byte -> Result<Int, ContentDecoder.CodingError> in
      var bytes = byte
      do throws(ContentDecoder.CodingError) { return .success(try inflate(&bytes)) } catch { return .failure(error) }
    }
    _ = try rest.get()
  }

  /// Returns the number of bytes written.
  private func inflate(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.CodingError) -> Int {
    let bytes = input.bindMemory(to: UInt8.self)
    stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
    stream.pointee.avail_in = UInt32(clamping: bytes.count)
    stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
    stream.pointee.avail_out = UInt32(output.count)
    let status = CZlib.inflate(stream, Z_NO_FLUSH)
    input = UnsafeRawBufferPointer(rebasing: input.dropFirst(bytes.count - Int(stream.pointee.avail_in)))
    let written = output.count - Int(stream.pointee.avail_out)
    switch status {
    case Z_OK, Z_BUF_ERROR: break
    case Z_STREAM_END: isAtEnd = true
    default:
      let detail = stream.pointee.msg.map { String(cString: $0) } ?? "status \(status)"
      throw ["incorrect data check", "incorrect length check"].contains(detail) ? .contradicted(detail) : .damaged(detail)
    }
    return written
  }
}
