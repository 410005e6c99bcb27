import ImagePrimitives

/// A whole PNG file whose pictures are read one after another.
struct PNGPicture {
  let file: UnsafeRawBufferPointer
  let header: PNGHeader
  let deadline: DecodingDeadline

  /// The still picture in `target`'s size, and what was odd.
  func still(of target: ImageSize) throws(ImageError) -> (PixelBuffer, [String]) {
    let reader = try reader(of: file, header.size)
    let pixels = try reader.pixels(of: target)
    return (pixels, try reader.finish())
  }

  /// Decodes the still picture and keeps nothing; returns what was odd.
  func proveStill() throws(ImageError) -> [String] {
    let reader = try reader(of: file, header.size)
    try reader.skip()
    return try reader.finish()
  }

  /// The frames of the animation, each as it is shown, through `convert`; `still` is the still picture in full size.
  func frames(
    of animation: PNGAnimation,
    still: PixelBuffer,
    convert: (PixelBuffer) -> PixelBuffer
  ) throws(ImageError) -> [Animation.Frame] {
    var canvas = PNGCanvas(size: header.size)
    var frames: [Animation.Frame] = []
    frames.reserveCapacity(animation.frames.count)
    for (index, frame) in animation.frames.enumerated() {
      try deadline.check()
      if index == 0, animation.beginsWithStill {
        canvas.draw(frame, still)
      } else {
        canvas.draw(frame, try pixels(of: frame))
      }
      frames.append(Animation.Frame(pixels: convert(canvas.pixels), duration: frame.duration))
    }
    return frames
  }

  /// Decodes the frames beside the still picture and keeps nothing.
  func prove(_ animation: PNGAnimation) throws(ImageError) {
    for frame in animation.frames.dropFirst(animation.beginsWithStill ? 1 : 0) {
      try deadline.check()
      try PNGFrameFile(frame, of: file).bytes.withRawBytes { bytes throws(ImageError) in
        let reader = try reader(of: bytes, frame.size)
        try reader.skip()
        _ = try reader.finish()
      }
    }
  }

  private func pixels(of frame: PNGAnimation.Frame) throws(ImageError) -> PixelBuffer {
    try PNGFrameFile(frame, of: file).bytes.withRawBytes { bytes throws(ImageError) in
      let reader = try reader(of: bytes, frame.size)
      let pixels = try reader.pixels(of: frame.size)
      _ = try reader.finish()
      return pixels
    }
  }

  private func reader(of bytes: UnsafeRawBufferPointer, _ size: ImageSize) throws(ImageError) -> PNGReader {
    try PNGReader.opened(bytes, size: size, isInterlaced: header.isInterlaced, deadline: deadline)
  }
}
