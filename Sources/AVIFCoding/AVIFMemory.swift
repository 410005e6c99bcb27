import CAVIF
import ImageCoding
import ImagePrimitives

/// What libavif and dav1d hold while they decode the frames of a file that keeps to its header.
struct AVIFMemory {
  private let framePixels: Int
  private let bytesPerPixel: Int
  private let decoders: Int

  /// Pixels beyond those of the header that a coded frame may have: the cells of a grid reach beyond its right and lower edges.
  private static let sparePixels = 512 * 512
  /// Tables and rows of one dav1d, of which there is one an item of a grid.
  private static let bytesPerDecoder = 2 << 20
  /// Frames of a sequence that later ones may refer to (AV1 specification, section 3: `NUM_REF_FRAMES`), the one that is decoded, and the last one.
  private static let framesOfSequence = 10
  /// A still frame, and the grid that it is copied to or what it is scaled from.
  private static let framesOfStill = 2

  init(header: ImageHeader, format: avifPixelFormat, depth: Int, items: Int) {
    framePixels = Self.framePixels(of: header.size)
    let halfSamples =
      switch format {
      case AVIF_PIXEL_FORMAT_YUV400: 2
      case AVIF_PIXEL_FORMAT_YUV420: 3
      case AVIF_PIXEL_FORMAT_YUV422: 4
      default: 6
      }
    let sampleBytes = depth > 8 ? 2 : 1
    // Alpha is monochrome, but may be coded with chroma planes of the smallest kind.
    let frameBytes = (halfSamples + (header.hasAlpha ? 3 : 0)) * sampleBytes
    let frames = header.isAnimated ? Self.framesOfSequence : Self.framesOfStill
    // Beside samples, dav1d keeps motion vectors, segments and filter levels.
    bytesPerPixel = (frameBytes * frames + 1) / 2 + (header.hasAlpha ? 2 : 1)
    decoders = max(1, items) + (header.hasAlpha ? 1 : 0)
  }

  /// Bytes at most; `Int.max` where they do not fit.
  var bytes: Int {
    let (pictures, overflow) = framePixels.multipliedReportingOverflow(by: bytesPerPixel)
    return overflow ? .max / 2 : min(pictures, .max / 4) + decoders * Self.bytesPerDecoder
  }

  /// Pixels that a coded frame may have.
  static func framePixels(of size: ImageSize) -> Int { min(size.pixels, .max / 2) + sparePixels }

  /// Bytes of the pixels that a decode keeps of `frames` frames, and of those it makes on the way.
  static func bytes(of header: ImageHeader, frames: Int, decodedTo size: ImageSize) -> Int {
    let steps = (header.orientation == 1 ? 0 : 1) + (size == header.displaySize ? 0 : 1)
    let (kept, overflow) = (size.pixels * 4).multipliedReportingOverflow(by: frames)
    return overflow ? .max / 2 : min(kept, .max / 4) + header.size.pixels * 4 * steps
  }
}
