#if RareFormats
import ImagePrimitives

/// A page of a TIFF file, as its directory describes it (TIFF 6.0, sections 2 to 8).
struct TIFFDirectory {
  /// The position of the directory.
  let offset: Int
  /// The position of the offset of the next directory.
  let end: Int
  /// The length of the values outside of the directory, as far as the file can hold them.
  private(set) var valueBytes = 0
  private let file: TIFFBytes
  private var fields: [Int: TIFFBytes.Field] = [:]

  /// libtiff rejects larger directories; real ones have fewer than 100 fields.
  static let mostFields = 4096

  /// Reads the directory at `offset`, of which all fields must be available.
  init(_ file: TIFFBytes, at offset: Int, isComplete: Bool) throws(ImageError) {
    guard let layout = file.layout(ofDirectoryAt: offset) else {
      throw .endsEarly("TIFF", needed: offset + (file.isBig ? 8 : 2), of: file.count, isComplete: isComplete)
    }
    guard (1...Self.mostFields).contains(layout.entries) else {
      throw .undecodable("the TIFF file's directory at byte \(offset) has \(layout.entries) fields")
    }
    // The offset of the next directory is part of it.
    let needed = layout.end + (file.isBig ? 8 : 4)
    guard file.has(0, at: needed) else { throw .endsEarly("TIFF", needed: needed, of: file.count, isComplete: isComplete) }
    (self.file, self.offset, end) = (file, offset, layout.end)
    var fields: [Int: TIFFBytes.Field] = [:]
    var bytes = 0
    file.forEachField(ofDirectoryAt: offset) { field in
      // As in libtiff, the first of several fields with the same tag is valid.
      if fields[field.tag] == nil { fields[field.tag] = field }
      if !field.isInline { bytes += min(field.bytes, file.count) }
    }
    (self.fields, valueBytes) = (fields, bytes)
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

  /// Fields without which pixels have other colours or none; libtiff ignores some of them if they are damaged: BitsPerSample,
  /// ColorMap, SampleFormat, JPEGTables, YCbCrCoefficients and ReferenceBlackWhite.
  private static let pixelTags = [258, 320, 339, 347, 529, 532]

  /// Throws if the colours are damaged or, in the complete file, continue beyond its end.
  func checkColors() throws(ImageError) {
    for tag in Self.pixelTags {
      guard let field = fields[tag], !file.has(field.bytes, at: field.value) else { continue }
      throw .undecodable(
        "the TIFF file is truncated: it has \(file.count) bytes, but field \(tag) of the directory at byte \(offset) ends at "
          + "\(field.value + field.bytes)"
      )
    }
    if photometric == 3, fields[320] == nil { throw .undecodable("a TIFF image with a palette, but without its colours (ColorMap)") }
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
      // Readers ignore the length of uncompressed ones, which some encoders write too large.
      try body(index, isCompressed ? start + length : start)
    }
    return count
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
    let compressed = min(file.count, chunkBytes)
    return chunkBytes + codec + compressed + valueBytes * 4 + Self.tablesInBytes
  }

  /// Tables of the codecs and of colour conversion, and the lists of a million strips that libtiff allocates at most for missing ones.
  private static let tablesInBytes = 18 << 20
  /// The number of rows decoded at once.
  var bandHeight: Int { min(chunk.height, size.height) }
}
#endif
