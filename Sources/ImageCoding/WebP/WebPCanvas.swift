import Base

extension AnimationCanvas {
  /// Decodes a frame and draws it (RFC 9649, section 2.7.1.1). Like browsers, it ignores the file's background colour.
  mutating func draw(_ frame: WebPContainer.Frame, isFirst: Bool) throws(ImageError) {
    // libwebp's demuxer checks this, too.
    guard frame.area.clipped(to: pixels.size) == frame.area else { throw .undecodable("the WebP frame is outside its canvas") }
    let picture = try PixelBuffer(size: frame.area.size) { pixels throws(ImageError) in
      try frame.bitstream.decode(into: pixels, stride: frame.area.width * 4)
    }
    begin(frame.area, disposal: frame.isDisposed ? .fill(0) : .keep)
    draw(picture) { row, source in
      guard frame.isBlended, !isFirst else { return row.copyMemory(from: source) }
      for offset in stride(from: 0, to: row.count, by: 4) {
        let above = source.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt8>.self)
        guard above.w > 0 else { continue }
        let below = row.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt8>.self)
        row.storeBytes(of: Self.blend(above, over: below), toByteOffset: offset, as: SIMD4<UInt8>.self)
      }
    }
  }

  /// The formula of section 2.7.1.1, rounded like libwebp's animation decoder, so that both produce the same pixels.
  private static func blend(_ source: SIMD4<UInt8>, over below: SIMD4<UInt8>) -> SIMD4<UInt8> {
    guard source.w < 255 else { return source }
    let share = (UInt32(below.w) * (256 - UInt32(source.w))) >> 8
    let alpha = UInt32(source.w) + share
    let scale = (1 << 24) / alpha
    let sum = SIMD4<UInt32>(truncatingIfNeeded: source) &* UInt32(source.w) &+ SIMD4(truncatingIfNeeded: below) &* share
    var result = SIMD4<UInt8>(truncatingIfNeeded: (sum &* scale) &>> 24)
    result.w = UInt8(truncatingIfNeeded: alpha)
    return result
  }
}
