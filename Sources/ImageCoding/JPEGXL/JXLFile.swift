#if RareFormats
import Base

/// The parts of a JPEG XL file: a bare codestream, or the boxes of a container (ISO/IEC 18181-2, section 4).
struct JXLFile {
  /// The ranges of the codestream's pieces, as far as they are available.
  private(set) var pieces: [Range<Int>] = []
  /// Whether the last piece of the codestream has been found.
  private(set) var hasLastPiece = false
  private(set) var exif = EXIF()
  private(set) var boxes = 0
  /// The number of bytes at which a prefix has more of its next box or piece.
  private var nextBytes = 0
  /// The end of the last piece, which may be beyond a prefix.
  private var pieceEnd = 0
  private let bytes: ByteView
  private let file: UnsafeRawBufferPointer
  private let isComplete: Bool

  init(_ file: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) {
    (self.file, bytes, self.isComplete) = (file, ByteView(file), isComplete)
    guard ImageFormat(prefix: file) == .jpegXL else {
      throw ImageError(.notAnImage, "not a JPEG XL file: it starts with neither a codestream (FF 0A) nor a JXL box")
    }
    guard bytes.bigEndian16(at: 0) != 0xFF0A else {
      pieces = [0..<file.count]
      hasLastPiece = true
      return
    }
    try walk()
    guard isComplete else { return }
    guard !pieces.isEmpty else { throw .undecodable("the JPEG XL file has no codestream (jxlc or jxlp box)") }
    guard hasLastPiece else { throw .undecodable("the JPEG XL file is truncated: its last jxlp box is missing") }
  }

  /// Calls `body` with the available codestream and converts its errors.
  func withCodestream<Result>(
    _ body: (UnsafeRawBufferPointer) throws(JXLError) -> Result
  ) throws(ImageError) -> Result {
    do throws(JXLError) {
      if let whole = wholePiece { return try body(whole) }
      return try joined.withRawBytes(body)
    } catch {
      throw converted(error)
    }
  }

  /// The codestream if it is in one piece.
  var wholePiece: UnsafeRawBufferPointer? { pieces.count == 1 ? UnsafeRawBufferPointer(rebasing: file[pieces[0]]) : nil }

  /// The size of the available codestream.
  var codestreamBytes: Int { pieces.reduce(0) { $0 + $1.count } }

  /// All pieces of the codestream, one after another.
  var joined: [UInt8] {
    var all: [UInt8] = []
    all.reserveCapacity(codestreamBytes)
    for piece in pieces { all += file[piece] }
    return all
  }

  private func converted(_ error: JXLError) -> ImageError {
    switch error {
    case .invalid(let what): return .undecodable("the JPEG XL codestream is invalid: \(what)")
    case .endsEarly(let needed):
      let available = codestreamBytes
      guard isComplete else {
        // Boxes between the pieces only add to it.
        let missing = file.count + needed - available
        let isPieceMissing = pieceEnd > file.count
        let minimum = isPieceMissing ? missing : max(nextBytes, missing)
        let start = isPieceMissing || nextBytes <= file.count ? nil : nextBytes - Self.boxHeaderBytes
        return .endsEarly("JPEG XL", needed: minimum, from: start, of: file.count, isComplete: false)
      }
      return .undecodable(
        "the JPEG XL file is truncated: its codestream has \(available) bytes, but at least \(needed) are needed"
      )
    }
  }

  private static let boxHeaderBytes = 16

  /// The signature box and the file type box come first.
  private mutating func walk() throws(ImageError) {
    var offset = 12
    while offset < bytes.count || !isComplete && !hasLastPiece {
      guard let box = try box(at: offset) else { return }
      boxes += 1
      if offset == 12 { try checkFileType(box) }
      try read(box)
      if nextBytes > 0 { return }
      offset = box.end
    }
  }

  private struct Box {
    let offset: Int
    let type: Int
    let start: Int
    let end: Int

    func isNamed(_ name: StaticString) -> Bool { (0..<4).reduce(0) { $0 << 8 | Int(name.utf8Start[$1]) } == type }

    var name: String { String(decoding: (0..<4).map { UInt8(truncatingIfNeeded: type >> (24 - 8 * $0)) }, as: UTF8.self) }
  }

  /// The box at `offset`; nil if a prefix ends before its content, or what follows the codestream isn't a box.
  private mutating func box(at offset: Int) throws(ImageError) -> Box? {
    guard let size = bytes.bigEndian32(at: offset), let type = bytes.bigEndian32(at: offset + 4) else {
      return try missing(until: offset + 8)
    }
    var (start, end) = (offset + 8, size == 0 ? bytes.count : offset + size)
    if size == 1 {
      guard let high = bytes.bigEndian32(at: start), let low = bytes.bigEndian32(at: start + 4) else {
        return try missing(until: offset + 16)
      }
      start += 8
      // Longer ones are beyond the end of every file.
      end = high < 1 << 30 ? offset + (high << 32 | low) : .max / 2
    }
    let box = Box(offset: offset, type: type, start: start, end: isComplete || size > 0 ? end : .max / 2)
    guard end >= start else {
      if hasLastPiece { return nil }
      throw .undecodable("the JPEG XL file's box at byte \(offset) has an invalid size of \(end - offset) bytes")
    }
    if isComplete, end > bytes.count {
      // Other data may follow the image, such as an error page.
      guard !hasLastPiece || Self.metadata.contains(where: box.isNamed) else { return nil }
      throw .undecodable(
        "the JPEG XL file is truncated: it has \(bytes.count) bytes, but its \(box.name) box at byte \(offset) ends at \(end)"
      )
    }
    return box
  }

  private static let metadata: [StaticString] = ["Exif", "xml ", "jumb", "brob", "jbrd", "jxli", "jxll", "jhgm"]

  private mutating func missing(until end: Int) throws(ImageError) -> Box? {
    guard isComplete else {
      nextBytes = end
      return nil
    }
    if hasLastPiece { return nil }
    throw .undecodable("the JPEG XL file is truncated: it has \(bytes.count) bytes and ends in a box header")
  }

  private func checkFileType(_ box: Box) throws(ImageError) {
    guard box.isNamed("ftyp") else { throw .undecodable("the JPEG XL file's second box isn't its file type (ftyp)") }
    guard box.end - box.start >= 12 else { throw .undecodable("the JPEG XL file's file type box (ftyp) is too short") }
    guard bytes.has(4, at: box.start) else { return }
    guard bytes.matches("jxl ", at: box.start) else { throw .undecodable("the JPEG XL file's brand (ftyp) isn't 'jxl '") }
  }

  private mutating func read(_ box: Box) throws(ImageError) {
    let end = min(box.end, bytes.count)
    if box.isNamed("ftyp"), box.offset != 12 {
      throw .undecodable("the JPEG XL file has a second file type box (ftyp) at byte \(box.offset)")
    } else if box.isNamed("jxlc") {
      guard pieces.isEmpty else {
        throw .undecodable("the JPEG XL file has a second codestream (jxlc box) at byte \(box.offset)")
      }
      pieces = [min(box.start, end)..<end]
      pieceEnd = box.end
      hasLastPiece = true
    } else if box.isNamed("jxlp") {
      try readPiece(box, end: end)
    } else if box.isNamed("Exif"), exif == EXIF() {
      exif = EXIF(box: bytes, min(box.start, end)..<end)
    } else if box.isNamed("brob"), bytes.matches("Exif", at: box.start), box.end <= bytes.count, exif == EXIF() {
      guard box.end - box.offset <= Self.maximumCompressedBytes else { return }
      let content = JXLCompressedBox.content(of: UnsafeRawBufferPointer(rebasing: file[box.offset..<box.end]))
      content?.withUnsafeBytes { exif = EXIF(box: ByteView($0), 0..<$0.count) }
    }
  }

  private static let maximumCompressedBytes = 1 << 20

  /// A piece of the codestream after its index, which has the highest bit set in the last one.
  private mutating func readPiece(_ box: Box, end: Int) throws(ImageError) {
    guard box.end - box.start >= 4 else {
      throw .undecodable("the JPEG XL file's jxlp box at byte \(box.offset) has no index")
    }
    guard let index = bytes.bigEndian32(at: box.start) else {
      nextBytes = box.start + 4
      return
    }
    guard !hasLastPiece else {
      throw .undecodable("the JPEG XL file has a jxlp box at byte \(box.offset) after the end of its codestream")
    }
    guard index & 0x7FFF_FFFF == pieces.count else {
      throw .undecodable(
        "the JPEG XL file's jxlp box at byte \(box.offset) has index \(index & 0x7FFF_FFFF) instead of \(pieces.count)"
      )
    }
    pieces.append(box.start + 4..<max(end, box.start + 4))
    pieceEnd = box.end
    hasLastPiece = index >> 31 == 1
  }
}

extension EXIF {
  /// Reads the content of an Exif box: the offset of the TIFF file, and that file.
  fileprivate init(box bytes: ByteView, _ range: Range<Int>) {
    let start = range.lowerBound
    let first = bytes.bigEndian32(at: start).map { start + 4 + $0 } ?? range.upperBound
    self.init(tiff: bytes, min(first, range.upperBound)..<range.upperBound)
  }
}
#endif
