import CZlib
import ImagePrimitives

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
    /// Extra bytes follow the end of a stream.
    case excess
    /// It expands to more than any image would.
    case bomb
  }

  private static let maximumCodings = 5
  /// A body may expand to this size from anything.
  private static let freeBytes = 1 << 20
  /// Beyond it, the maximum ratio to the received bytes: about the best of deflate (RFC 1951), and more than images need.
  static let maximumRatio = 1000

  /// In the order of decoding.
  private let stages: [Inflater]
  /// The number of coded bytes received.
  private(set) var codedBytes = 0
  private(set) var error: CodingError?

  /// Creates a decoder for those codings, the first of which was applied first; nil for none. Throws the name of an unknown one.
  init?(_ codings: [String]) throws(UnknownCoding) {
    guard !codings.isEmpty else { return nil }
    guard codings.count <= Self.maximumCodings else { throw UnknownCoding(name: codings.joined(separator: ", ")) }
    var stages: [Inflater] = []
    for name in codings.reversed() {
      switch name {
      case "gzip", "x-gzip": stages.append(Inflater(isGzip: true))
      case "deflate": stages.append(Inflater(isGzip: false))
      default: throw UnknownCoding(name: name)
      }
    }
    self.stages = stages
  }

  struct UnknownCoding: Error {
    let name: String
  }

  /// Whether all streams have ended.
  var isAtEnd: Bool { error == nil && stages.allSatisfy(\.isAtEnd) }

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
        piece = try stage.inflate(&rest)
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

/// A zlib stream.
private final class Inflater {
  private static let pieceBytes = 64 << 10

  // zlib keeps the address of its stream.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
  private var hasBegun = false
  /// The first byte of `deflate`, which together with the second identifies zlib's format.
  private var firstByte: UInt8?
  private let isGzip: Bool
  private(set) var isAtEnd = false
  private(set) var producedBytes = 0

  init(isGzip: Bool) {
    self.isGzip = isGzip
    stream.initialize(to: z_stream())
  }

  deinit {
    if hasBegun { inflateEnd(stream) }
    stream.deallocate()
    output.deallocate()
  }

  /// Decodes and removes the next bytes of `input`. Returns at most one piece; empty if more input is needed.
  func inflate(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.CodingError) -> UnsafeRawBufferPointer {
    if !isGzip, !hasBegun, firstByte == nil, let first = input.first {
      firstByte = first
      input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
    }
    while !isAtEnd {
      if !hasBegun {
        guard let second = input.first else { break }
        try begin(second)
      }
      let written = try step(&input)
      if written > 0 { return UnsafeRawBufferPointer(rebasing: output[..<written]) }
      if input.isEmpty { break }
    }
    if isAtEnd, !input.isEmpty { throw .excess }
    return UnsafeRawBufferPointer(start: nil, count: 0)
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
      do throws(ContentDecoder.CodingError) { return .success(try step(&bytes)) } catch { return .failure(error) }
    }
    _ = try rest.get()
  }

  /// Returns the number of bytes written.
  private func step(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.CodingError) -> Int {
    let bytes = input.bindMemory(to: UInt8.self)
    stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
    stream.pointee.avail_in = UInt32(clamping: bytes.count)
    stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
    stream.pointee.avail_out = UInt32(output.count)
    let status = CZlib.inflate(stream, Z_NO_FLUSH)
    input = UnsafeRawBufferPointer(rebasing: input.dropFirst(bytes.count - Int(stream.pointee.avail_in)))
    let written = output.count - Int(stream.pointee.avail_out)
    producedBytes += written
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
