#if LoadedFormats
import CTIFF
import Base

/// The pages of a TIFF file: their directories are read by libtiff, the chain of these (TIFF 6.0, section 2) here, since libtiff 4.5
/// takes quadratic time for it.
struct TIFFFile {
  private(set) var header = ImageHeader(.tiff)
  /// The memory for decoding the page that needs most, besides the pixels that are kept.
  private(set) var memory = 0
  /// The number of the first page's rows that are decoded at once.
  private(set) var bandHeight = 0
  /// The end of the first page's last strip or tile in a file that is arriving, as far as it is known; otherwise 0.
  private(set) var knownEnd = 0
  private var pages = 0
  /// What is wrong with the chain of directories.
  private var damage: ImageError?

  /// More pages than that are considered damage; libtiff's older versions can't count further.
  private static let mostPages = 65_535

  /// Those of reading a header: of any size and number of pages.
  static let headerLimits = DecodingLimits(maximumPixels: .max, maximumFrames: .max, maximumBytes: DecodingLimits().allowedBytes)

  /// libtiff estimates missing lengths of strips from the length of the file. If that isn't known, it gets 1 TiB; an end beyond
  /// this limit counts as unknown, since no image is so long.
  private static let longestKnown = 8 << 30

  /// Reads the first directory, which must be available, and finds the others. Of a complete file, all pages or the first one must be
  /// within limits, and their strips or tiles inside the file.
  init(
    _ bytes: UnsafeRawBufferPointer,
    isComplete: Bool,
    firstPageOnly: Bool = false,
    limits: DecodingLimits = headerLimits
  ) throws(ImageError) {
    guard let file = TIFFBytes(ByteView(bytes), 0..<bytes.count) else {
      throw ImageError(.notAnImage, "not a TIFF file: it doesn't start with TIFF's signature")
    }
    guard file.firstDirectory != 0 else { throw .undecodable("the TIFF file has no image") }
    followChain(file, isComplete: isComplete)
    if isComplete, !firstPageOnly || pages == 0, let damage { throw damage }
    guard !isComplete || firstPageOnly || pages <= limits.maximumFrames else {
      throw .undecodable("the TIFF file has at least \(pages) pages, but \(limits.maximumFrames) are allowed")
    }
    let count = isComplete && !firstPageOnly ? pages : 1
    let deadline = DecodingDeadline(limits)
    var reader = try TIFFReader(
      bytes,
      isComplete: isComplete,
      pages: count,
      maximumBytes: limits.allowedBytes,
      deadline: deadline
    )
    for number in 0..<count {
      do throws(ImageError) {
        try reader.next()
      } catch {
        // Values that haven't arrived may be zeros, which libtiff rejects.
        guard !isComplete, error.kind == .undecodable, readFields(of: file) else { throw error }
        return
      }
      if number == 0 { read(reader, bytes, file) }
      if isComplete {
        try limits.check(reader.size)
        try limits.check(bytes: reader.memory)
      }
      let end = try reader.end()
      if !isComplete, end <= Self.longestKnown, file.hasLengths { knownEnd = end }
      memory = max(memory, reader.memory)
    }
  }

  private mutating func read(_ reader: borrowing TIFFReader, _ bytes: UnsafeRawBufferPointer, _ file: TIFFBytes) {
    let exif = EXIF(tiff: ByteView(bytes), 0..<bytes.count)
    header.size = reader.size
    header.frames = max(1, pages)
    header.hasAlpha = reader.page.has_alpha
    header.colorSpace = Self.colorSpaces[reader.page.photometric]
    if let profile = reader.page.profile {
      header.profile = ICCProfile(data: UnsafeRawBufferPointer(start: profile, count: Int(reader.page.profile_bytes)))
    } else if file.has(34_675, inDirectoryAt: file.firstDirectory ?? 0) {
      // libtiff ignores a profile that hasn't arrived.
      header.profile = ICCProfile(name: nil)
    }
    (header.orientation, header.hasPosition, header.dpi) = (exif.orientation ?? 1, exif.hasPosition, exif.dpi)
    bandHeight = reader.bandHeight
  }

  /// Reads the first directory of a file that is arriving without libtiff; returns false if it doesn't state a size.
  private mutating func readFields(of file: TIFFBytes) -> Bool {
    var numbers: [Int: Int] = [:]
    file.forEachField(ofDirectoryAt: file.firstDirectory ?? 0) { numbers[$0.tag] = numbers[$0.tag] ?? file.integer($0) }
    guard let width = numbers[256], let height = numbers[257], width > 0, height > 0 else { return false }
    header.size = ImageSize(width: width, height: height)
    header.frames = max(1, pages)
    header.hasAlpha = numbers[338].map { $0 == 1 || $0 == 2 } ?? (numbers[262] == 2 && numbers[277] == 4)
    header.colorSpace = numbers[262].flatMap { Self.colorSpaces[Int32(clamping: $0)] }
    return true
  }

  /// By PhotometricInterpretation.
  private static let colorSpaces: [Int32: ImageHeader.ColorSpace] = [
    0: .gray, 1: .gray, 2: .rgb, 3: .indexed, 5: .cmyk, 6: .ycbcr,
  ]

  private mutating func followChain(_ file: TIFFBytes, isComplete: Bool) {
    var seen: Set<Int> = []
    var next = file.firstDirectory
    while let offset = next, offset > 0 {
      guard seen.insert(offset).inserted else {
        damage = .undecodable("the TIFF file's pages form a loop: page \(pages) is followed by an earlier one")
        return
      }
      guard pages < Self.mostPages else {
        damage = .undecodable("the TIFF file has more than \(Self.mostPages) pages")
        return
      }
      let end = file.end(ofDirectoryAt: offset) ?? .max
      guard end <= file.count else {
        let needed = end == .max ? offset + (file.isBig ? 8 : 2) : end
        let part = pages == 0 ? "its header needs at least \(needed)" : "page \(pages + 1) is described at byte \(offset)"
        if isComplete { damage = .undecodable("the TIFF file is truncated: it has \(file.count) bytes, but \(part)") }
        return
      }
      // libtiff would show it in grey.
      guard !isComplete || !file.lacksPalette(at: offset) else {
        damage = .undecodable("a TIFF image with a palette, but without its colours (ColorMap)")
        return
      }
      pages += 1
      next = file.offset(at: end - (file.isBig ? 8 : 4))
    }
  }
}

extension TIFFBytes {
  /// Whether the first directory has StripByteCounts or TileByteCounts.
  fileprivate var hasLengths: Bool { [279, 325].contains { has($0, inDirectoryAt: firstDirectory ?? 0) } }

  fileprivate func has(_ tag: Int, inDirectoryAt offset: Int) -> Bool {
    var isFound = false
    forEachField(ofDirectoryAt: offset) { if $0.tag == tag { isFound = true } }
    return isFound
  }

  /// Whether a directory's PhotometricInterpretation says that it has a palette, but its ColorMap is missing.
  fileprivate func lacksPalette(at offset: Int) -> Bool {
    var isIndexed = false
    forEachField(ofDirectoryAt: offset) { if $0.tag == 262 { isIndexed = integer($0) == 3 } }
    return isIndexed && !has(320, inDirectoryAt: offset)
  }
}
#endif
