import CZlib
import ImagePrimitives

/// Undoes the codings of a body as it arrives (RFC 9110, section 8.4), and knows whether their ends have come.
///
/// libcurl would undo them too, and takes a stream that is cut for a whole one.
final class ContentDecoder {
  /// Why the rest of the body is of no use.
  enum Problem {
    /// It isn't what the coding says.
    case damaged(String)
    /// The checksum or the length behind a stream is another one.
    case contradicted(String)
    /// Bytes come behind the end of a stream.
    case excess
    /// It unpacks to more than any image would.
    case bomb
  }

  private static let maximumCodings = 5
  /// Up to this size a body may unpack from anything.
  private static let freeBytes = 1 << 20
  /// Beyond it, to so many times what came at most: about what deflate does at its best (RFC 1951), and more than images have room for.
  static let maximumRatio = 1000

  /// In the order in which they are undone.
  private let stages: [Inflater]
  /// How much of the body has come.
  private(set) var codedBytes = 0
  private(set) var problem: Problem?

  /// A decoder of a body with those codings, the first of which was applied first; nil for none. Throws the name of one that isn't known.
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

  /// Whether all streams have come to their ends.
  var isAtEnd: Bool { problem == nil && stages.allSatisfy(\.isAtEnd) }

  /// Hands over what `bytes` stand for, in pieces, until `take` wants no more. Returns whether more can be decoded.
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
      do throws(Problem) {
        piece = try stage.inflate(&rest)
      } catch {
        problem = error
        return false
      }
      if piece.isEmpty { return true }
      if stage.producedBytes > Self.freeBytes, stage.producedBytes / Self.maximumRatio > codedBytes {
        problem = .bomb
        return false
      }
      if !decode(piece, stage: index + 1, take) { return false }
    } while true
  }
}

extension ContentDecoder.Problem: Error {}

/// One stream of zlib's.
private final class Inflater {
  private static let pieceBytes = 64 << 10

  // zlib keeps the address of its stream.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
  private var hasBegun = false
  /// The first byte of `deflate`, which names zlib's format together with the second.
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

  /// Returns what the next of `input`, which is advanced, stands for, at most a piece of it; empty if more is needed.
  func inflate(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.Problem) -> UnsafeRawBufferPointer {
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

  /// Begins the stream; `deflate` is zlib's format (RFC 9110, section 8.4.1.2), and from some servers the bare data.
  private func begin(_ second: UInt8) throws(ContentDecoder.Problem) {
    let first = firstByte ?? 0
    let isZlib = first & 15 == 8 && (Int(first) << 8 | Int(second)) % 31 == 0
    let window: Int32 = isGzip ? 15 + 16 : isZlib ? 15 : -15
    guard inflateInit2_(stream, window, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      throw .damaged("zlib has no memory for it")
    }
    hasBegun = true
    guard !isGzip else { return }
    let rest = withUnsafeBytes(of: first) { byte -> Result<Int, ContentDecoder.Problem> in
      var bytes = byte
      do throws(ContentDecoder.Problem) { return .success(try step(&bytes)) } catch { return .failure(error) }
    }
    _ = try rest.get()
  }

  /// Returns how many bytes it wrote.
  private func step(_ input: inout UnsafeRawBufferPointer) throws(ContentDecoder.Problem) -> Int {
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
