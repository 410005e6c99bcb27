#if RareFormats
import Base

/// The pages of a TIFF file, found by following the chain of directories (TIFF 6.0, section 2).
struct TIFFStructure {
  /// The first page.
  let first: TIFFDirectory
  /// The positions of the available directories, at least one.
  private(set) var pages: [Int]
  /// What is wrong with the chain after the last of ``pages``; nil if nothing is.
  private(set) var damage: ImageError?
  private let file: TIFFBytes
  private let prefix: UnsafeRawBufferPointer

  /// More pages than that are considered damage; libtiff's older versions can't count further.
  private static let mostPages = 65_535

  /// Reads the first directory, which must be available, and the positions of the others.
  init(_ prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) {
    self.prefix = prefix
    guard let file = TIFFBytes(ByteView(prefix), 0..<prefix.count) else {
      throw ImageError(.notAnImage, "not a TIFF file: it doesn't start with TIFF's signature")
    }
    self.file = file
    guard let offset = file.firstDirectory else {
      throw .endsEarly("TIFF", needed: file.headerBytes, of: file.count, isComplete: isComplete)
    }
    guard offset > 0 else { throw .undecodable("the TIFF file has no image") }
    first = try TIFFDirectory(file, at: offset, isComplete: isComplete)
    guard first.size.width > 0, first.size.height > 0 else {
      throw .undecodable("a TIFF image of \(first.size.width) x \(first.size.height) pixels")
    }
    pages = [offset]
    followChain(isComplete: isComplete)
  }

  private mutating func followChain(isComplete: Bool) {
    var seen: Set = [first.offset]
    var end = first.end
    while let next = file.offset(at: end), next > 0 {
      guard seen.insert(next).inserted else {
        damage = .undecodable("the TIFF file's pages form a loop: page \(pages.count) is followed by an earlier one")
        return
      }
      guard pages.count < Self.mostPages else {
        damage = .undecodable("the TIFF file has more than \(Self.mostPages) pages")
        return
      }
      guard let layout = file.layout(ofDirectoryAt: next), file.has(file.isBig ? 8 : 4, at: layout.end) else {
        guard isComplete else { return }
        damage = .undecodable(
          "the TIFF file is truncated: it has \(file.count) bytes, but page \(pages.count + 1) is described at byte \(next)"
        )
        return
      }
      pages.append(next)
      end = layout.end
    }
  }

  /// The header of the first page, with the number of pages.
  var header: ImageHeader {
    let exif = EXIF(tiff: ByteView(prefix), 0..<prefix.count)
    return ImageHeader(
      format: .tiff,
      size: first.size,
      frames: pages.count,
      hasAlpha: first.alpha != nil,
      orientation: exif.orientation ?? 1,
      colorSpace: first.colorSpace,
      profile: first.profile.map { ICCProfile(data: UnsafeRawBufferPointer(rebasing: prefix[$0])) },
      hasPosition: exif.hasPosition,
      dpi: exif.dpi
    )
  }

  /// The directories of the first `count` pages.
  func directories(_ count: Int) throws(ImageError) -> [TIFFDirectory] {
    var directories = [first]
    for offset in pages[1..<count] { directories.append(try TIFFDirectory(file, at: offset, isComplete: true)) }
    return directories
  }

  /// Throws if a page of the complete file continues beyond the file's end, or a strip or tile of one.
  func check(_ directories: [TIFFDirectory]) throws(ImageError) {
    // Pages may share lists, but together they have fewer entries than a file of that length can hold.
    var remaining = file.count
    for (number, directory) in directories.enumerated() where remaining > 0 {
      try directory.check()
      remaining -= try directory.forEachChunkEnd { index, end throws(ImageError) in
        guard end > file.count else { return }
        throw .undecodable(
          "the TIFF file is truncated: it has \(file.count) bytes, but strip or tile \(index + 1) of page \(number + 1) ends at \(end)"
        )
      }
    }
  }
}
#endif
