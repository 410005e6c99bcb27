package import ImagePrimitives

extension PixelBuffer {
  /// The image in fewer pixels, each the mean of the area that it covers; itself where the size is the same. See ``RowScaler``, also for sizes that trap.
  package func reduced(to target: ImageSize) -> PixelBuffer {
    guard target != size else { return self }
    var scaler = RowScaler(from: size, to: target)
    let rowLength = size.width * 4
    let reduced = bytes.withUnsafeBytes { source in
      [UInt8](unsafeUninitializedCapacity: target.pixels * 4) { buffer, count in
        let pixels = UnsafeMutableBufferPointer(rebasing: buffer[..<(target.pixels * 4)])
        for start in stride(from: 0, to: source.count, by: rowLength) {
          scaler.append(UnsafeRawBufferPointer(rebasing: source[start..<start + rowLength]), into: pixels)
        }
        count = target.pixels * 4
      }
    }
    return PixelBuffer(size: target, bytes: reduced)
  }
}
