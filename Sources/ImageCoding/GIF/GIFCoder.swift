package import Base

/// Decodes GIF by giflib: GIF87a and GIF89a, interlaced or not, with all frames of an animation.
///
/// Frames are composed as they specify. A first frame larger than the screen enlarges it; parts of later frames outside it are
/// dropped, as in browsers. An image whose first frame has a transparent colour starts transparent, others in the screen's
/// background colour. An animation is shown as often as the file says, or once if it doesn't.
///
/// Invalid codes and truncated pictures, in any frame of more than 1 pixel, are errors. A frame without codes, or of 0 pixels, shows
/// nothing. A file that lacks its trailer, or has something other than a block after a frame, ends there with a warning.
package struct GIFCoder: ImageCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .gif }

  /// Reads all blocks up to the first frame, which affects the size, and the available ones after it.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try GIFHeader(ByteView(prefix), isComplete: isComplete).image
  }

  /// Decodes to RGBA, each frame complete as displayed.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let parts = try GIFHeader(ByteView(bytes), isComplete: true)
    let header = parts.image
    try limits.check(header.size)
    let isStill = options.firstFrameOnly || header.frames == 1
    try limits.check(frames: header.frames)
    let size = options.decodedSize(of: header.size)
    // The canvas, its previous state, and the frames that are kept.
    let memory = header.size.pixels * 8 + (isStill ? 1 : header.frames) * size.pixels * 4 + GIFStream.tablesInBytes
    let deadline = DecodingDeadline(limits)
    return try limits.spending(memory) { () throws(ImageError) in
      var stream = try GIFStream(bytes)
      let background = parts.beginsTransparent ? 0 : stream.background
      var canvas = AnimationCanvas(size: header.size, color: background)
      var frames: [DecodedImage.Frame] = []
      while let frame = try stream.nextFrame(limits: limits) {
        let hasPixels = try stream.checkCodes(deadline: deadline)
        let palette = stream.palette(frame)
        canvas.begin(frame.area, disposal: frame.control.disposal(background: background))
        if hasPixels {
          try stream.readRows(deadline: deadline) { y, indices in
            canvas.withRow(x: frame.area.x, y: frame.area.y + y) { row in Self.draw(indices, on: row, palette) }
          }
        } else {
          stream.skipPicture()
        }
        let pixels = canvas.pixels.reduced(to: size)
        frames.append(DecodedImage.Frame(pixels: pixels, milliseconds: frame.control.centiseconds * 10))
        if options.firstFrameOnly { break }
      }
      return DecodedImage(header: header, frames: frames, loopCount: stream.loopCount, warnings: stream.warnings)
    }
  }

  /// Draws colours from the left; pixels beyond the row are dropped, and a colour of 0 leaves the existing pixel.
  private static func draw(
    _ indices: UnsafeBufferPointer<UInt8>,
    on row: UnsafeMutableRawBufferPointer,
    _ palette: [UInt32]
  ) {
    palette.withUnsafeBufferPointer { palette in
      for x in 0..<min(indices.count, row.count / 4) {
        let color = palette[Int(indices[x])]
        if color != 0 { row.storeBytes(of: color, toByteOffset: x * 4, as: UInt32.self) }
      }
    }
  }

  /// Checks every frame's codes without producing pixels.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let header = try header(of: bytes, isComplete: true)
    try limits.check(header.size)
    try limits.check(frames: header.frames)
    let deadline = DecodingDeadline(limits)
    return try limits.spending(GIFStream.tablesInBytes) { () throws(ImageError) in
      var stream = try GIFStream(bytes)
      while try stream.nextFrame(limits: limits) != nil {
        _ = try stream.checkCodes(deadline: deadline)
        stream.skipPicture()
      }
      return ImageProof(header: header, warnings: stream.warnings)
    }
  }
}
