import ImagePrimitives

/// What decoding a PNG holds, in bytes.
struct PNGMemory {
  /// libpng's rows of up to 8 bytes a pixel, zlib's window, and state.
  let rows: Int
  private let header: PNGHeader
  private let canvas: Int

  init(_ header: PNGHeader) {
    self.header = header
    rows = header.size.width * 8 * 5 + 512 << 10
    canvas = header.size.pixels * 4
  }

  /// To decode the still picture to `target`, and turn it; an interlaced one has to be whole before it is reduced.
  func still(_ target: ImageSize, isTurned: Bool) -> Int {
    let result = target.pixels * 4
    let whole = header.isInterlaced && target != header.size ? canvas : 0
    return rows + whole + result * (isTurned ? 2 : 1) + target.width * MemoryLayout<SIMD4<Double>>.stride
  }

  /// To decode an animation's frames to `target` besides: the canvas, the one to come back to, the frame's own picture, and all
  /// that is kept.
  func frames(of animation: PNGAnimation, _ target: ImageSize) -> Int {
    let (kept, overflow) = (target.pixels * 4).multipliedReportingOverflow(by: animation.frames.count + 2)
    let largest = animation.frames.lazy.map { $0.size.pixels * 4 }.max() ?? 0
    return overflow ? .max / 2 : kept + canvas * 2 + largest + files(of: animation)
  }

  /// To prove an animation's frames besides: the largest one's file.
  func files(of animation: PNGAnimation) -> Int {
    (animation.frames.lazy.map(\.data.count).max() ?? 0) + 4096
  }
}
