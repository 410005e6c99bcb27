import CGIF
import Base

/// A GIF as giflib reads it, record by record; giflib keeps only the tables of one picture.
///
/// For each frame, call ``nextFrame(limits:)``, then ``checkCodes(deadline:)``, then either ``skipPicture()`` or, if the frame has
/// pixels, ``readRows(deadline:_:)``.
struct GIFStream: ~Copyable {
  /// A frame whose picture will be read next.
  struct Frame {
    /// On the screen, which it may exceed.
    var area: PixelRectangle
    var control: GIFGraphicControl
  }

  /// How often the frames are shown, as far as read: 1 if not declared, 0 for forever.
  var loopCount = 1
  /// The warnings so far, one sentence each.
  var warnings: [String] = []
  /// The number of frames so far.
  var frames = 0
  /// The number of frames and extensions so far.
  var blocks = 0
  /// The offset of the frame's descriptor, after its introducer.
  var descriptor = 0
  /// The offset of the frame's first block of codes.
  var picture = 0

  let file: UnsafeMutablePointer<GifFileType>
  let source: UnsafeMutablePointer<Source>

  /// The bytes and the current offset.
  struct Source {
    let bytes: UnsafeRawBufferPointer
    var offset = 0
  }

  /// Opens a complete file, whose bytes must outlive this.
  init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    let source = UnsafeMutablePointer<Source>.allocate(capacity: 1)
    source.initialize(to: Source(bytes: bytes))
    var error: Int32 = 0
    let opened = DGifOpen(source, { file, target, count in GIFStream.read(file, into: target, count) }, &error)
    guard let opened else {
      source.deallocate()
      throw Self.error(error, "")
    }
    self.source = source
    file = opened
  }

  deinit {
    DGifCloseFile(file, nil)
    source.deallocate()
  }

  /// giflib's read function: returns fewer bytes if the file ends.
  private static func read(
    _ file: UnsafeMutablePointer<GifFileType>?,
    into target: UnsafeMutablePointer<GifByteType>?,
    _ count: Int32
  ) -> Int32 {
    guard let source = file?.pointee.UserData?.assumingMemoryBound(to: Source.self), let target else { return 0 }
    let count = min(Int(count), source.pointee.bytes.count - source.pointee.offset)
    let part = source.pointee.bytes[source.pointee.offset..<source.pointee.offset + count]
    UnsafeMutableRawBufferPointer(start: target, count: count).copyMemory(from: UnsafeRawBufferPointer(rebasing: part))
    source.pointee.offset += count
    return Int32(count)
  }
}

extension GIFStream {
  /// The error of giflib's last failed call.
  func lastError(_ location: String) -> ImageError { Self.error(file.pointee.Error, location) }

  /// The memory for giflib's code and colour tables and a row.
  static let tablesInBytes = 128 << 10

  /// An error with giflib's message.
  static func error(_ number: Int32, _ location: String) -> ImageError {
    let name = GifErrorString(number).map { String(cString: $0) } ?? "an invalid code size"
    guard number != D_GIF_ERR_NOT_ENOUGH_MEM else { return ImageError(.outOfMemory, "giflib: \(name)") }
    return .undecodable("giflib: \(name)\(location.isEmpty ? "" : ", \(location)")")
  }

  /// Moves to the next frame; nil at the trailer, or, with a warning, if the file stops between blocks or has something other than
  /// a block.
  mutating func nextFrame(limits: DecodingLimits) throws(ImageError) -> Frame? {
    var control = GIFGraphicControl()
    var hasExtension = false
    while true {
      blocks += 1
      guard blocks <= limits.maximumChunks else {
        throw .undecodable("the GIF file has more than \(limits.maximumChunks) blocks, the limit for one file")
      }
      let isAtEnd = source.pointee.offset == source.pointee.bytes.count
      var type = UNDEFINED_RECORD_TYPE
      let status = DGifGetRecordType(file, &type)
      switch type {
      case IMAGE_DESC_RECORD_TYPE:
        try limits.check(frames: frames + 1)
        frames += 1
        descriptor = source.pointee.offset
        try readDescriptor()
        picture = source.pointee.offset
        let image = file.pointee.Image
        let area = PixelRectangle(x: Int(image.Left), y: Int(image.Top), width: Int(image.Width), height: Int(image.Height))
        try limits.check(area.size)
        return Frame(area: area, control: control)
      case EXTENSION_RECORD_TYPE:
        hasExtension = true
        try readExtension(&control)
      default:
        guard status == GIF_ERROR else { return nil }
        // An extension without its frame means that the file was truncated.
        guard frames > 0, !(isAtEnd && hasExtension) else { throw lastError("after frame \(frames)") }
        warnings.append(isAtEnd ? "giflib: the file ends without a trailer" : lastError("after frame \(frames)").message)
        return nil
      }
    }
  }

  /// Reads the descriptor and its colours, and prepares giflib for the first code.
  func readDescriptor() throws(ImageError) {
    guard DGifGetImageHeader(file) == GIF_OK else {
      // giflib reports a large code size, which it read last, as a failed read.
      let (bytes, offset) = (source.pointee.bytes, source.pointee.offset)
      guard file.pointee.Error == D_GIF_ERR_READ_FAILED, offset < bytes.count else { throw lastError("in frame \(frames)") }
      throw .undecodable("giflib: a code size of \(bytes[offset - 1]) bits, but at most 8 are supported, in frame \(frames)")
    }
  }

  private mutating func readExtension(_ control: inout GIFGraphicControl) throws(ImageError) {
    var label: Int32 = 0
    var block: UnsafeMutablePointer<GifByteType>?
    var isFirst = true
    var isLoopCount = false
    guard DGifGetExtension(file, &label, &block) == GIF_OK else { throw lastError("in a block after frame \(frames)") }
    // Each sub-block starts with its length.
    while let start = block {
      let bytes = ByteView(UnsafeRawBufferPointer(start: start + 1, count: Int(start.pointee)))
      let range = 0..<bytes.count
      switch UInt8(truncatingIfNeeded: label) {
      case GIFGraphicControl.label where isFirst: control = GIFGraphicControl(bytes, range) ?? control
      case GIFApplication.label where isFirst: isLoopCount = GIFApplication.isLoopCount(bytes, range)
      case GIFApplication.label where isLoopCount: loopCount = GIFApplication.loopCount(bytes, range) ?? loopCount
      default: break
      }
      isFirst = false
      guard DGifGetExtensionNext(file, &block) == GIF_OK else { throw lastError("in a block after frame \(frames)") }
    }
  }

  /// The frame's 256 colours as RGBA in memory order, from its own table, else the screen's, else grey; those beyond a table are
  /// black. The transparent one is 0.
  func palette(_ frame: Frame) -> [UInt32] {
    var colors = [UInt32](repeating: Self.pixel(0, 0, 0), count: 256)
    if let map = (file.pointee.Image.ColorMap ?? file.pointee.SColorMap)?.pointee {
      for index in 0..<min(256, Int(map.ColorCount)) {
        let color = map.Colors[index]
        colors[index] = Self.pixel(color.Red, color.Green, color.Blue)
      }
    } else {
      for index in 0..<256 { colors[index] = Self.pixel(UInt8(index), UInt8(index), UInt8(index)) }
    }
    if let index = frame.control.transparentIndex { colors[index] = 0 }
    return colors
  }

  /// The opaque colour of the screen outside pictures, from the screen's table; black if there is none.
  var background: UInt32 {
    let index = Int(file.pointee.SBackGroundColor)
    guard let map = file.pointee.SColorMap?.pointee, index < map.ColorCount else { return Self.pixel(0, 0, 0) }
    return Self.pixel(map.Colors[index].Red, map.Colors[index].Green, map.Colors[index].Blue)
  }

  private static func pixel(_ red: UInt8, _ green: UInt8, _ blue: UInt8) -> UInt32 {
    UInt32(littleEndian: UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | 0xFF00_0000)
  }

  /// Verifies that the picture's codes are valid and cover all of its pixels, without producing any; false if it has none.
  ///
  /// giflib itself produces pixels for some invalid codes. Like browsers, it accepts a picture without codes, or of 0 pixels, which
  /// shows nothing. Tracking GIFs are such pictures of 1 pixel, which never need a code.
  mutating func checkCodes(deadline: DecodingDeadline) throws(ImageError) -> Bool {
    try deadline.check()
    let (width, height) = (Int(file.pointee.Image.Width), Int(file.pointee.Image.Height))
    if width == 0 || height == 0 { return false }
    let bytes = source.pointee.bytes
    let isEmpty = picture < bytes.count && bytes[picture] == 0
    if isEmpty, width * height > 1 { warnings.append("frame \(frames) has no pixels, so browsers show nothing of it") }
    if isEmpty { return false }
    do throws(ImageError) {
      try checkAllCodes(deadline: deadline)
    } catch {
      guard error.kind == .undecodable, width * height == 1 else { throw error }
      return false
    }
    return true
  }

  private func checkAllCodes(deadline: DecodingDeadline) throws(ImageError) {
    // giflib read the code size last.
    var codes = GIFCodeCheck(codeSize: Int(source.pointee.bytes[source.pointee.offset - 1]))
    let pixels = Int(file.pointee.Image.Width) * Int(file.pointee.Image.Height)
    var code: Int32 = 0
    var count = 0
    while codes.pixels < pixels {
      guard DGifGetLZCodes(file, &code) == GIF_OK else { throw lastError("in frame \(frames)") }
      guard code >= 0 else { throw Self.error(D_GIF_ERR_EOF_TOO_SOON, "in frame \(frames)") }
      guard codes.append(Int(code)) else { throw Self.error(D_GIF_ERR_IMAGE_DEFECT, "in frame \(frames)") }
      count += 1
      if count % Self.codesBetweenChecks == 0 { try deadline.check() }
    }
  }

  /// Moves to the end of a picture whose codes were checked.
  mutating func skipPicture() {
    // giflib can't skip after an invalid code.
    let bytes = source.pointee.bytes
    var offset = picture
    while offset < bytes.count, bytes[offset] != 0 { offset += 1 + Int(bytes[offset]) }
    source.pointee.offset = min(offset + 1, bytes.count)
    if offset >= bytes.count { endsBehindPixels() }
  }

  /// Calls `body` with each row of a picture whose codes were checked, and its position from the top: interlaced rows come in four
  /// passes (GIF89a, appendix E).
  mutating func readRows(
    deadline: DecodingDeadline,
    _ body: (_ y: Int, _ indices: UnsafeBufferPointer<UInt8>) -> Void
  ) throws(ImageError) {
    source.pointee.offset = descriptor
    try readDescriptor()
    let (width, height) = (Int(file.pointee.Image.Width), Int(file.pointee.Image.Height))
    let passes = file.pointee.Image.Interlace ? [(0, 8), (4, 8), (2, 4), (1, 2)] : [(0, 1)]
    let row = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: width)
    defer { row.deallocate() }
    var left = height
    for (start, step) in passes {
      for y in stride(from: start, to: height, by: step) {
        left -= 1
        if DGifGetLine(file, row.baseAddress, Int32(width)) != GIF_OK {
          // After the last row, giflib continues to the end of the picture.
          guard left == 0, file.pointee.Error == D_GIF_ERR_READ_FAILED else { throw lastError("in frame \(frames)") }
          endsBehindPixels()
        }
        body(y, UnsafeBufferPointer(row))
        if left % Self.rowsBetweenChecks == 0 { try deadline.check() }
      }
    }
  }

  private mutating func endsBehindPixels() {
    warnings.append("giflib: the file ends after the pixels of frame \(frames), without the picture's end")
  }

  private static let codesBetweenChecks = 1 << 16
  private static let rowsBetweenChecks = 64
}

/// Follows the codes of a picture (variable-length LZW: GIF89a, appendix F) and counts their pixels without producing them.
///
/// A code represents a pixel, or an entry of a table that grows by one with every code: the pixels of the previous code plus one.
/// So only the lengths of entries are needed.
struct GIFCodeCheck {
  /// The number of pixels so far.
  private(set) var pixels = 0
  /// The number of pixels that each code represents.
  private var lengths: [Int32]
  private let clearCode: Int
  /// The code of the next entry; 4,096 if the table is full, which then stops growing.
  private var next: Int
  /// The number of pixels of the previous code; 0 if there is none since the table was cleared.
  private var lastLength: Int32 = 0

  /// A check of codes with a minimum size of `codeSize` bits, 0…8.
  init(codeSize: Int) {
    clearCode = 1 << codeSize
    next = clearCode + 2
    lengths = Array(repeating: 1, count: Self.tableSize)
  }

  /// Adds the next code, other than the one that ends the picture; false if it is invalid.
  mutating func append(_ code: Int) -> Bool {
    if code == clearCode {
      next = clearCode + 2
      lastLength = 0
      return true
    }
    if lastLength == 0 {
      guard code < clearCode else { return false }
      lastLength = 1
    } else {
      // A code may refer to the entry that it creates itself.
      guard code <= next, code < Self.tableSize else { return false }
      if next < Self.tableSize {
        lengths[next] = lastLength + 1
        next += 1
      }
      lastLength = lengths[code]
    }
    pixels += Int(lastLength)
    return true
  }

  /// Codes have at most 12 bits.
  private static let tableSize = 1 << 12
}
