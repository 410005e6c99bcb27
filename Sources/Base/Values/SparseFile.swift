import Platform

/// A file of which only the beginning and some pieces further on are available.
package struct SparseFile: Sendable, Equatable {
  package struct Piece: Sendable, Equatable {
    package var offset: Int
    package var bytes: [UInt8]

    package init(offset: Int, bytes: [UInt8]) { (self.offset, self.bytes) = (offset, bytes) }

    package var end: Int { offset + bytes.count }
  }

  package var prefix: [UInt8]
  package var pieces: [Piece]

  package init(prefix: [UInt8], pieces: [Piece] = []) { (self.prefix, self.pieces) = (prefix, pieces) }

  /// Calls `body` with all bytes up to the end of the last piece; those between the pieces are zero and take no memory.
  ///
  /// If the system has no addresses for them, `body` gets the prefix.
  package func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let end = pieces.last?.end, let mapping = Self.map(end) else { return try prefix.withRawBytes(body) }
    defer { munmap(mapping.baseAddress, mapping.count) }
    mapping.copyBytes(from: prefix)
    for piece in pieces { UnsafeMutableRawBufferPointer(rebasing: mapping[piece.offset...]).copyBytes(from: piece.bytes) }
    return try body(UnsafeRawBufferPointer(mapping))
  }

  private static func map(_ count: Int) -> UnsafeMutableRawBufferPointer? {
    guard count > 0, let start = system_map_zeros(count) else { return nil }
    return UnsafeMutableRawBufferPointer(start: start, count: count)
  }
}
