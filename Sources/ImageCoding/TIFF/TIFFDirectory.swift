#if RareFormats
import Base

/// A page of a TIFF file, as its directory describes it (TIFF 6.0, sections 2 to 8).
struct TIFFDirectory {
  /// The position of the directory.
  let offset: Int
  /// The position of the offset of the next directory.
  let end: Int
  /// The length of the values outside of the directory, as far as the file can hold them.
  private(set) var valueBytes = 0
  private let file: TIFFBytes
  /// The first field whose values aren't available.
  private let beyond: TIFFBytes.Field?
  private var fields: [Int: TIFFBytes.Field] = [:]

  /// libtiff rejects larger directories; real ones have fewer than 100 fields.
  static let mostFields = 4096

  /// Reads the directory at `offset`, of which all fields must be available.
  init(_ file: TIFFBytes, at offset: Int, isComplete: Bool) throws(ImageError) {
    guard let layout = file.layout(ofDirectoryAt: offset) else {
      throw .endsEarly("TIFF", needed: offset + (file.isBig ? 8 : 2), from: offset, of: file.count, isComplete: isComplete)
    }
    guard (1...Self.mostFields).contains(layout.entries) else {
      throw .undecodable("the TIFF file's directory at byte \(offset) has \(layout.entries) fields")
    }
    // The offset of the next directory is part of it.
    let needed = layout.end + (file.isBig ? 8 : 4)
    guard file.has(0, at: needed) else {
      throw .endsEarly("TIFF", needed: needed, from: offset, of: file.count, isComplete: isComplete)
    }
    (self.file, self.offset, end) = (file, offset, layout.end)
    var fields: [Int: TIFFBytes.Field] = [:]
    var bytes = 0
    var beyond: TIFFBytes.Field?
    file.forEachField(ofDirectoryAt: offset) { field in
      // As in libtiff, the first of several fields with the same tag is valid.
      if fields[field.tag] == nil { fields[field.tag] = field }
      if !field.isInline { bytes += min(field.bytes, file.count) }
      if beyond == nil, !file.has(field.bytes, at: field.value) { beyond = field }
    }
    (self.fields, self.beyond, valueBytes) = (fields, beyond, bytes)
  }

  private func integer(_ tag: Int, _ index: Int = 0) -> Int? { fields[tag].flatMap { file.integer($0, index) } }

  /// ImageWidth and ImageLength.
  var size: ImageSize { ImageSize(width: integer(256) ?? 0, height: integer(257) ?? 0) }
  /// BitsPerSample, which libtiff requires to be the same for all samples.
  var bits: Int { min(integer(258) ?? 1, 1 << 16) }
  var isCompressed: Bool { integer(259) ?? 1 != 1 }
  private var photometric: Int? { integer(262) }
  var samples: Int { min(integer(277) ?? 1, 1 << 16) }
  private var isSeparate: Bool { samples > 1 && integer(284) == 2 }

  var colorSpace: ImageHeader.ColorSpace? {
    switch photometric {
    case 0, 1: .gray
    case 2: .rgb
    case 3: .indexed
    case 5: .cmyk
    case 6: .ycbcr
    default: nil
    }
  }

  /// The available bytes of the embedded profile (ICC.1:2022, annex B.4), maybe none; nil if there is no profile.
  var profile: Range<Int>? {
    guard let field = fields[34675] else { return nil }
    let start = min(field.value, file.count)
    return start..<min(start + field.bytes, file.count)
  }

  /// The sample with the opacity; nil if there is none.
  ///
  /// ExtraSamples lists the samples beyond the colours: 1 is opacity by which colours are multiplied, 2 opacity by which they aren't
  /// (section 18). A fourth sample of RGB that isn't listed is opacity in most readers.
  var alpha: (sample: Int, isPremultiplied: Bool)? {
    guard let field = fields[338] else { return photometric == 2 && samples == 4 ? (3, false) : nil }
    let colors = samples - field.count
    guard colors > 0 else { return nil }
    for index in 0..<min(field.count, Self.mostExtraSamples) {
      if let kind = file.integer(field, index), kind == 1 || kind == 2 { return (colors + index, kind == 1) }
    }
    return nil
  }

  private static let mostExtraSamples = 16

  /// The width and height of a tile, or of a strip.
  private var chunk: ImageSize {
    if let width = integer(322), let height = integer(323) {
      return ImageSize(width: min(width, Int(UInt32.max)), height: min(height, Int(UInt32.max)))
    }
    return ImageSize(width: size.width, height: min(integer(278) ?? size.height, size.height))
  }

  /// Positions and lengths of its strips or tiles; nil if they aren't available.
  private var chunks: (offsets: TIFFBytes.Field, lengths: TIFFBytes.Field)? {
    guard let offsets = fields[324] ?? fields[273], let lengths = fields[325] ?? fields[279] else { return nil }
    return (offsets, lengths)
  }

  /// Throws if values of a complete file's directory are beyond its end, or a palette is missing.
  func check() throws(ImageError) {
    if let beyond {
      throw .undecodable(
        "the TIFF file is truncated: it has \(file.count) bytes, but field \(beyond.tag) of the directory at byte \(offset) ends at "
          + "\(beyond.value + beyond.bytes)"
      )
    }
    if photometric == 3, fields[320] == nil {
      throw .undecodable("a TIFF image with a palette, but without its colours (ColorMap)")
    }
  }

  /// Calls `body` with the index and the end of each strip or tile whose length is known; returns their number.
  func forEachChunkEnd(_ body: (_ index: Int, _ end: Int) throws(ImageError) -> Void) throws(ImageError) -> Int {
    guard let (offsets, lengths) = chunks else { return 0 }
    // Each takes bytes of the file, so their number is limited by its length.
    let count = min(offsets.count, lengths.count, file.count)
    for index in 0..<count {
      guard let start = file.integer(offsets, index), let length = file.integer(lengths, index) else {
        throw .undecodable(
          "the TIFF file is truncated: it has \(file.count) bytes, but the list of \(count) strips or tiles continues after them"
        )
      }
      guard start > 0 else {
        throw .undecodable("strip or tile \(index + 1) of the directory at byte \(offset) isn't in the TIFF file")
      }
      try body(index, start + usedBytes(of: index, length: length))
    }
    return count
  }

  /// The largest end of a strip or tile, as far as their positions and lengths are available and not zero; nil if none are.
  var knownEnd: Int? {
    guard let (offsets, lengths) = chunks else { return nil }
    var end: Int?
    for index in 0..<min(offsets.count, lengths.count, Self.mostKnownEnds) {
      guard let start = file.integer(offsets, index), let length = file.integer(lengths, index) else { break }
      if start > 0, length > 0 { end = max(end ?? 0, start + usedBytes(of: index, length: length)) }
    }
    return end
  }

  private static let mostKnownEnds = 65_536

  /// The bytes that readers need of a strip or tile of that length. Some encoders write too large lengths of uncompressed ones.
  private func usedBytes(of index: Int, length: Int) -> Int {
    guard !isCompressed else { return length }
    let isTiled = integer(322) != nil
    let rows = max(1, chunk.height)
    // Pages after the first may have no height.
    let strips = max(1, (size.height - 1) / rows + 1)
    let height = isTiled ? rows : min(rows, size.height - index % strips * rows)
    // The colours of YCbCr may be stored for every second or fourth pixel.
    let stored = isSeparate || photometric == 6 ? 1 : samples
    let (rowBits, overflow) = chunk.width.multipliedReportingOverflow(by: bits * stored)
    guard !overflow, rowBits <= .max - 7 else { return length }
    let (bytes, isTooLarge) = ((rowBits + 7) / 8).multipliedReportingOverflow(by: height)
    return isTooLarge ? length : min(length, bytes)
  }
}

extension TIFFDirectory {
  /// The memory that libtiff and the conversion need for a strip or tile, and for the directory, in bytes; saturated.
  var chunkBytes: Int {
    let sampleBits = max(8, bits)
    // Chroma subsampling and JPEG round sizes up to whole blocks; with separate planes, at most five and a spare one are kept.
    let width = (chunk.width + 15) / 16 * 16
    let height = (chunk.height + 15) / 16 * 16
    let pixels = ImageSize(width: width, height: height).pixels
    let (bits, overflow) = pixels.multipliedReportingOverflow(by: sampleBits * (isSeparate ? min(samples, 6) : samples))
    return overflow ? .max / 8 : min(bits / 8, .max / 8) + chunk.width * 5
  }

  /// All memory that decoding the page needs besides the pixels that are kept.
  var memory: Int {
    // JPEG, WebP, LZMA and Zstandard keep coefficients, or what they refer to.
    let codec = isCompressed ? chunkBytes * 2 : 0
    // libtiff reads at most 1 MiB of a strip, or ten times its pixels.
    let compressed = min(file.count, min(chunkBytes, .max / 64) * 10 + 1 << 20)
    return chunkBytes + codec + compressed + valueBytes * 4 + listBytes + Self.tablesInBytes
  }

  /// The memory for the positions and lengths of strips or tiles, and copies; libtiff allocates at most a million that the file lacks.
  private var listBytes: Int {
    let rows = max(1, chunk.height)
    let count = ((size.height - 1) / rows + 1).multipliedReportingOverflow(by: (size.width - 1) / max(1, chunk.width) + 1)
    let all = count.overflow ? .max / 64 : min(count.partialValue, .max / 64 / 65_536) * (isSeparate ? samples : 1)
    return min(all, 1_000_000 + file.count / 4) * 32
  }

  /// Tables of the codecs.
  private static let tablesInBytes = 1 << 20
  /// The number of rows decoded at once.
  var bandHeight: Int { min(chunk.height, size.height) }
}
#endif
