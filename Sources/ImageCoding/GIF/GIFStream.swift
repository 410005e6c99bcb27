import CGIF
import ImagePrimitives

/// A GIF as giflib reads it, record by record; giflib keeps nothing of what was read but the tables of one picture.
///
/// Of each frame, in this order: ``nextFrame(limits:)``, ``checkCodes(deadline:)``, and then ``skipPicture()``, or
/// ``readRows(deadline:_:)``.
struct GIFStream: ~Copyable {
  /// A frame whose picture is the next to be read.
  struct Frame {
    var left: Int
    var top: Int
    var size: ImageSize
    var isInterlaced: Bool
    var control: GIFGraphicControl
  }

  /// How often the frames are shown, as far as was read: once where nothing is said, for ever at 0.
  var loopCount = 1
  /// What was odd until now, a sentence each.
  var warnings: [String] = []
  /// Frames until now.
  var frames = 0
  /// Frames and extensions until now.
  var blocks = 0
  /// Where the descriptor of the frame begins, behind its introducer.
  var descriptor = 0

  let file: UnsafeMutablePointer<GifFileType>
  let source: UnsafeMutablePointer<Source>

  /// The bytes and how far they were read.
  struct Source {
    let bytes: UnsafeRawBufferPointer
    var offset = 0
  }

  /// Opens a whole file, whose bytes have to outlive this.
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

  /// What giflib calls for its next bytes: fewer where the file ends.
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
  /// What giflib failed at last.
  func lastError(_ place: String) -> ImageError { Self.error(file.pointee.Error, place) }

  /// Memory of giflib's tables of codes and colours, and of a row.
  static let tablesInBytes = 128 << 10

  /// An error by giflib's own name for it.
  static func error(_ number: Int32, _ place: String) -> ImageError {
    let name = GifErrorString(number).map { String(cString: $0) } ?? "an impossible size of codes"
    guard number != D_GIF_ERR_NOT_ENOUGH_MEM else { return ImageError(.outOfMemory, "giflib: \(name)") }
    return .undecodable("giflib: \(name)\(place.isEmpty ? "" : ", \(place)")")
  }
}
