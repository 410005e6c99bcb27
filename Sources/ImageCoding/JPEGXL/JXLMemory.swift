#if RareFormats
import Base

/// The memory that libjxl uses to decode a codestream, estimated from its structure: libjxl 0.7 allocates only its state with a
/// memory manager, and aborts the process if it gets no memory.
struct JXLMemory {
  /// The maximum number of bytes, saturated.
  let bytes: Int

  /// Tables, and rows of the group that is being decoded.
  private static let baseBytes = 24 << 20
  /// Planes of blocks, and the output of filters between groups.
  private static let bytesPerPixel = 8
  /// Coefficients of three channels, kept until the last pass.
  private static let bytesPerPixelOfPasses = 12
  /// Integer samples of a channel before and after global transforms, and its decision tree.
  private static let bytesPerSample = 12
  /// A channel in floating point that is blended or kept, and its copy.
  private static let bytesPerKeptSample = 8
  /// The maximum that libjxl allows for the positions and modes of patches.
  private static let bytesPerPixelOfPatches = 66

  init(_ image: JXLImage, codestreamBytes: Int) {
    let channels = 3 + image.metadata.extraChannels.count
    let isSimple = image.frames.count == 1
    var largest = 0
    var slots = [0, 0, 0, 0]
    for frame in image.frames {
      let isIntegral = frame.isModular || channels > 3
      let perPixel =
        Self.bytesPerPixel + (frame.passes > 1 ? Self.bytesPerPixelOfPasses : 0)
        + (isIntegral ? channels * Self.bytesPerSample : 0) + (isSimple ? 0 : channels * Self.bytesPerKeptSample)
        + (frame.hasPatches ? Self.bytesPerPixelOfPatches : 0)
      let pixels = max(frame.size.pixels, image.metadata.size.pixels)
      largest = max(largest, Self.product(pixels, perPixel))
      if let slot = frame.slot { slots[slot] = max(slots[slot], Self.product(pixels, channels * 4)) }
    }
    // libjxl copies the codestream of a frame, in a vector that doubles.
    bytes = slots.reduce(largest, +) + Self.baseBytes + image.profileBytes * 3 + codestreamBytes * 2
  }

  /// Saturated so that sums of a few don't overflow.
  private static func product(_ first: Int, _ second: Int) -> Int {
    let (result, overflow) = first.multipliedReportingOverflow(by: second)
    return overflow ? .max / 16 : min(result, .max / 16)
  }

  /// The size of the pixels that a decode keeps for `frames` frames, and of intermediate ones, in bytes.
  static func bytes(of header: ImageHeader, frames: Int, decodedTo size: ImageSize) -> Int {
    let steps = 1 + (header.orientation == 1 ? 0 : 1) + (size == header.displaySize ? 0 : 1)
    return product(size.pixels * 4, frames) + product(header.size.pixels * 4, steps)
  }
}
#endif
