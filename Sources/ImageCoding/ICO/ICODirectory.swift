import Base

/// The directory of an icon or cursor (Microsoft: ICONDIR, ICONDIRENTRY).
struct ICODirectory {
  /// A picture according to the directory, which may be wrong.
  struct Entry {
    /// Its number, from 1.
    var number: Int
    /// A length of 0 in the file means 256, or more.
    var size: ImageSize
    var bytes: Int
    var offset: Int
    /// The offset of the picture that follows in the file; nil if none does.
    var next: Int?

    /// Where and how large it is, for errors.
    var description: String { "picture \(number) (\(size.width) x \(size.height), \(bytes) bytes at byte \(offset))" }

    /// Calls `body`; its errors name the picture, and count bytes from the file's start.
    func naming<Result>(_ body: () throws(ImageError) -> Result) throws(ImageError) -> Result {
      do throws(ImageError) {
        return try body()
      } catch {
        guard case .needsMoreBytes(let minimum) = error.kind else {
          throw ImageError(error.kind, "\(description): \(error.message)")
        }
        throw ImageError(.needsMoreBytes(minimum: offset + minimum), error.message)
      }
    }
  }

  /// `ICO` or `CUR`.
  let name: String
  /// All entries in their order, at least one.
  let entries: [Entry]

  /// The offset after the entries.
  let end: Int

  private static let start = 6
  private static let entryLength = 16

  init(_ file: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) {
    let bytes = ByteView(file)
    let isCursor = bytes.matches("\0\0\u{2}\0")
    guard isCursor || bytes.matches("\0\0\u{1}\0") else {
      throw ImageError(.notAnImage, "neither an ICO nor a CUR file: it starts with neither 0 0 1 0 nor 0 0 2 0")
    }
    name = isCursor ? "CUR" : "ICO"
    guard let count = bytes.littleEndian16(at: 4) else {
      throw .endsEarly(name, needed: Self.start, of: bytes.count, isComplete: isComplete)
    }
    guard count > 0 else { throw .undecodable("the \(name) file has no picture") }
    end = Self.start + count * Self.entryLength
    guard bytes.count >= end else { throw .endsEarly(name, needed: end, of: bytes.count, isComplete: isComplete) }
    func side(_ byte: UInt8?) -> Int { byte.map { $0 == 0 ? 256 : Int($0) } ?? 0 }
    var entries = (0..<count).map { index in
      let start = Self.start + index * Self.entryLength
      return Entry(
        number: index + 1,
        size: ImageSize(width: side(bytes.byte(at: start)), height: side(bytes.byte(at: start + 1))),
        bytes: bytes.littleEndian32(at: start + 8) ?? 0,
        offset: bytes.littleEndian32(at: start + 12) ?? 0
      )
    }
    let offsets = Set(entries.map(\.offset)).sorted()
    let next = Dictionary(uniqueKeysWithValues: zip(offsets, offsets.dropFirst()))
    for index in entries.indices { entries[index].next = next[entries[index].offset] }
    self.entries = entries
  }

  /// The picture that represents the icon: the largest by the directory, as in browsers and Pillow, so that a prefix suffices.
  ///
  /// Of several, it is the largest by their own headers, which must be in reach, then the deepest, then the first.
  func largest(in file: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ICOPicture {
    let area = entries.reduce(0) { max($0, $1.size.pixels) }
    let candidates = entries.filter { $0.size.pixels == area }
    var largest: ICOPicture?
    for entry in candidates {
      do throws(ImageError) {
        let picture = try ICOPicture(entry, of: self, in: file, isComplete: isComplete)
        if let largest, (largest.size.pixels, largest.depth) >= (picture.size.pixels, picture.depth) { continue }
        largest = picture
      } catch {
        var error = error
        if case .needsMoreBytes = error.kind, candidates.count == 1 { error.neededStart = entry.offset }
        throw error
      }
    }
    return largest!
  }

  /// All pictures with different offsets, in their order: entries may share a picture.
  func pictures(in file: UnsafeRawBufferPointer) throws(ImageError) -> [ICOPicture] {
    var offsets: Set<Int> = []
    var pictures: [ICOPicture] = []
    for entry in entries where offsets.insert(entry.offset).inserted {
      let picture = try ICOPicture(entry, of: self, in: file, isComplete: true)
      try picture.checkPixels()
      pictures.append(picture)
    }
    return pictures
  }

  /// Warnings about entries that don't match their pictures, at most one about sizes and one about lengths.
  func warnings(about pictures: [ICOPicture]) -> [String] {
    var warnings: [String] = []
    if let wrong = pictures.first(where: { !$0.isAsListed }) {
      warnings.append("\(wrong.entry.description) is \(wrong.size.width) x \(wrong.size.height) pixels by its own header")
    }
    if let cut = pictures.first(where: { $0.entry.bytes > $0.bytes.count }) {
      warnings.append("\(cut.entry.description) has only \(cut.bytes.count) bytes up to the next picture or the file's end")
    }
    return warnings
  }
}

/// A picture of an icon: a PNG, or a bitmap and its mask.
struct ICOPicture {
  let entry: ICODirectory.Entry
  /// The bytes up to the next picture or the end of the file, since the directory's lengths may be wrong. So pictures don't
  /// overlap, and decoding all takes time in proportion to the file.
  let bytes: UnsafeRawBufferPointer
  /// Nil for a PNG.
  let bitmap: BMPHeader?
  /// By its own header.
  let size: ImageSize
  /// Bits per pixel.
  let depth: Int

  /// A BITMAPCOREHEADER has that many bytes, and a BITMAPINFOHEADER the other.
  private static let fewestBytes = 12
  private static let usualBytes = 40

  /// Reads a picture's own header.
  init(
    _ entry: ICODirectory.Entry,
    of directory: ICODirectory,
    in file: UnsafeRawBufferPointer,
    isComplete: Bool
  ) throws(ImageError) {
    self.entry = entry
    let isComplete = isComplete || entry.next.map { $0 <= file.count } ?? false
    let bytes = UnsafeRawBufferPointer(rebasing: file[min(entry.offset, file.count)..<min(entry.next ?? .max, file.count)])
    self.bytes = bytes
    (bitmap, size, depth) = try entry.naming { () throws(ImageError) in
      guard entry.offset >= directory.end else {
        throw .undecodable("it starts in the directory, which ends at byte \(directory.end)")
      }
      if bytes.count >= Self.fewestBytes { return try Self.header(bytes, isComplete: isComplete) }
      if isComplete { throw .undecodable("the file has only \(bytes.count) bytes of it") }
      let needed = max(Self.fewestBytes, min(entry.bytes, Self.usualBytes))
      throw .endsEarly(directory.name, needed: needed, of: bytes.count, isComplete: false)
    }
  }

  private static func header(_ bytes: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> (BMPHeader?, ImageSize, Int)
  {
    let view = ByteView(bytes)
    guard view.bigEndian32(at: 0) == 0x8950_4E47 else {
      let header = try BMPHeader(bytes, isComplete: isComplete, isInIcon: true)
      return (header, header.size, header.bits)
    }
    // Only the IHDR chunk, since a file can have many entries.
    guard let width = view.bigEndian32(at: 16), let height = view.bigEndian32(at: 20), let depth = view.byte(at: 24),
      let colorType = view.byte(at: 25), view.has(33, at: 0)
    else { throw .endsEarly("PNG", needed: 33, of: view.count, isComplete: isComplete) }
    let samples = colorType == 2 ? 3 : colorType == 4 ? 2 : colorType == 6 ? 4 : 1
    return (nil, ImageSize(width: width, height: height), Int(depth) * samples)
  }

  /// Whether the directory's size is right; it can't state sizes above 256.
  var isAsListed: Bool {
    func matches(_ listed: Int, _ own: Int) -> Bool { listed == own || listed == 256 && own > 256 }
    return matches(entry.size.width, size.width) && matches(entry.size.height, size.height)
  }

  /// Throws if the bitmap or its mask is truncated.
  func checkPixels() throws(ImageError) {
    guard let bitmap else { return }
    try entry.naming { () throws(ImageError) in
      try bitmap.checkPixels(in: bytes)
      // Only 32-bit pixels need none; but if the directory counts it, the file is truncated.
      guard maskEnd(bitmap) > bytes.count, bitmap.bits < 32 || entry.bytes >= maskEnd(bitmap) else { return }
      throw .undecodable("the bitmap is truncated: its mask is missing or incomplete")
    }
  }

  /// The length of the mask's rows, which are padded to four bytes.
  private var maskRowLength: Int { (size.width + 31) / 32 * 4 }

  /// The offset after the mask's last pixel.
  private func maskEnd(_ bitmap: BMPHeader) -> Int {
    bitmap.pixelsEnd + size.height.saturated(times: maskRowLength) - maskRowLength + (size.width + 7) / 8
  }

  /// The pixels of a bitmap with their alpha: that of the mask, unless they have alpha themselves.
  ///
  /// Like Windows and browsers, it ignores the fourth byte of 32-bit pixels if all are 0.
  func pixels(of bitmap: BMPHeader, deadline: DecodingDeadline) throws(ImageError) -> PixelBuffer {
    var reader = BMPPixels(bitmap, bytes)
    var pixels = try reader.pixels(of: size, deadline: deadline)
    let alphas = stride(from: 3, to: pixels.bytes.count, by: 4)
    if bitmap.masks.w != 0 {
      if alphas.contains(where: { pixels.bytes[$0] != 0 }) { return pixels }
      for index in alphas { pixels.bytes[index] = 255 }
    }
    guard maskEnd(bitmap) <= bytes.count else { return pixels }
    for y in 0..<size.height {
      let row = bitmap.pixelsEnd + (bitmap.isTopDown ? y : size.height - 1 - y) * maskRowLength
      for x in 0..<size.width where bytes[row + x / 8] & 0x80 >> UInt8(x % 8) != 0 {
        pixels.bytes[(y * size.width + x) * 4 + 3] = 0
      }
    }
    return pixels
  }
}
