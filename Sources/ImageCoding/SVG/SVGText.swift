import CZlib
import Base

extension SVGCoder {
  /// The text of an SVG or SVGZ file; nil if it is damaged or longer than `maximumBytes`.
  package static func text(_ bytes: UnsafeRawBufferPointer, maximumBytes: Int) -> [UInt8]? {
    let file = SVGText(bytes, isComplete: true)
    var text: [UInt8] = []
    do throws(ImageError) {
      while let piece = try file.next(atLeast: 0) {
        guard text.count + piece.count <= maximumBytes else { return nil }
        text += piece
      }
      return text
    } catch {
      return nil
    }
  }
}

/// The text of an SVG or SVGZ file, in pieces.
final class SVGText {
  private static let pieceBytes = 64 << 10
  /// The size that any gzip data may expand to.
  private static let freeBytes = 1 << 20
  /// Beyond that, the maximum ratio to the compressed bytes. SVG compresses about 5:1, and its most regular charts less than 100:1.
  private static let maximumRatio = 200
  /// Expat's buffers hold the longest tag up to three times, and a distinct name takes many times its length.
  private static let memoryPerByte = 8
  private static let fixedMemory = 1 << 20

  private let bytes: UnsafeRawBufferPointer
  private let isComplete: Bool
  private var offset = 0
  /// Whether all pieces have been returned.
  private(set) var isAtEnd = false

  /// Nil for plain text. zlib keeps the address of its stream.
  private let stream: UnsafeMutablePointer<z_stream>?
  private var isBetweenMembers = true
  private var inflatedBytes = 0
  private var piece = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  /// Creates the text of a file, or of its beginning; `bytes` must outlive it.
  init(_ bytes: UnsafeRawBufferPointer, isComplete: Bool) {
    self.bytes = bytes
    self.isComplete = isComplete
    guard ByteView(bytes).bigEndian16(at: 0) == 0x1F8B else {
      stream = nil
      return
    }
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 16 more than the window size means gzip only.
    let status = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    trap(unless: status == Z_OK, "inflateInit2: status \(status); out of memory, or zlib differs from the one at build time")
    self.stream = stream
  }

  deinit {
    if let stream {
      inflateEnd(stream)
      stream.deallocate()
    }
    piece.deallocate()
  }

  /// The memory that parsing the text may take, in bytes.
  var memory: Int { Self.fixedMemory + textBytes * Self.memoryPerByte }

  /// The length of the text, as the end of a gzip file states it modulo 2^32 (RFC 1952, section 2.3.1).
  private var textBytes: Int {
    guard stream != nil else { return bytes.count }
    let stated = isComplete ? ByteView(bytes).littleEndian32(at: bytes.count - 4) ?? 0 : 0
    return min(max(stated, bytes.count * Self.memoryPerByte), Self.freeBytes + bytes.count * Self.maximumRatio)
  }

  /// Returns the next piece, with at least `count` bytes unless it is the last; nil at the end.
  func next(atLeast count: Int) throws(ImageError) -> UnsafeRawBufferPointer? {
    if isAtEnd { return nil }
    let count = min(max(count, Self.pieceBytes), 1 << 30)
    guard let stream else {
      let piece = UnsafeRawBufferPointer(rebasing: bytes[offset...].prefix(count))
      offset += piece.count
      isAtEnd = offset == bytes.count
      return piece
    }
    if piece.count < count {
      piece.deallocate()
      piece = .allocate(byteCount: count, alignment: 16)
    }
    let written = try inflatePiece(stream)
    inflatedBytes += written
    if inflatedBytes > Self.freeBytes, inflatedBytes / Self.maximumRatio > bytes.count {
      throw .undecodable("the SVGZ file expands more than \(Self.maximumRatio)-fold, which suggests a decompression bomb")
    }
    return UnsafeRawBufferPointer(rebasing: piece[..<written])
  }

  /// Fills the piece, or what is left of it at the end; returns the number of bytes.
  private func inflatePiece(_ stream: UnsafeMutablePointer<z_stream>) throws(ImageError) -> Int {
    var written = 0
    while written < piece.count {
      if isBetweenMembers {
        if offset == bytes.count, offset > 0 {
          isAtEnd = true
          return written
        }
        // A file may have several members (RFC 1952, section 2.2).
        guard bytes[offset] == 0x1F else { throw .undecodable("the SVGZ file has other bytes after its gzip data") }
        inflateReset(stream)
        isBetweenMembers = false
      }
      let input = UnsafeRawBufferPointer(rebasing: bytes[offset...].prefix(1 << 30))
      stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
      stream.pointee.avail_in = UInt32(input.count)
      stream.pointee.next_out = piece.bindMemory(to: UInt8.self).baseAddress! + written
      stream.pointee.avail_out = UInt32(piece.count - written)
      let status = inflate(stream, Z_NO_FLUSH)
      offset += input.count - Int(stream.pointee.avail_in)
      written = piece.count - Int(stream.pointee.avail_out)
      switch status {
      case Z_STREAM_END: isBetweenMembers = true
      case Z_OK, Z_BUF_ERROR:
        guard offset == bytes.count, written < piece.count else { continue }
        if isComplete { throw .undecodable("the SVGZ file is truncated: its gzip data ends early") }
        isAtEnd = true
        return written
      default:
        throw .undecodable("zlib: \(stream.pointee.msg.map { String(cString: $0) } ?? "status \(status)")")
      }
    }
    return written
  }
}
