package import ImagePrimitives

extension PixelBuffer {
  /// A buffer of `size` whose every byte `fill` writes, unless it throws; memory is touched as `fill` goes.
  package init(size: ImageSize, filledBy fill: (UnsafeMutableBufferPointer<UInt8>) throws(ImageError) -> Void) throws(ImageError)
  {
    let length = size.pixels * 4
    var refusal: ImageError?
    // The standard library's closure knows no typed errors, so the error goes around it.
    let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      do throws(ImageError) {
        try fill(UnsafeMutableBufferPointer(rebasing: buffer[..<length]))
        count = length
      } catch {
        refusal = error
      }
    }
    if let refusal { throw refusal }
    self.init(size: size, bytes: bytes)
  }

  /// A buffer whose rows `fill` writes one after the other: it gets the number of the row and its bytes.
  init(size: ImageSize, rows fill: (_ y: Int, _ row: UnsafeMutableBufferPointer<UInt8>) -> Void) {
    let rowLength = size.width * 4
    let bytes = [UInt8](unsafeUninitializedCapacity: size.pixels * 4) { buffer, count in
      for y in 0..<size.height {
        fill(y, UnsafeMutableBufferPointer(rebasing: buffer[y * rowLength..<(y + 1) * rowLength]))
      }
      count = size.pixels * 4
    }
    self.init(size: size, bytes: bytes)
  }
}
