import CGIF
import ImagePrimitives

extension GIFStream {
  /// Reads the picture's codes and sees that they make all of its pixels; none is made.
  ///
  /// giflib itself makes some pixels out of codes that have no meaning.
  func checkCodes(deadline: DecodingDeadline) throws(ImageError) {
    try deadline.check()
    // The byte that giflib read last.
    var codes = GIFCodeCheck(codeSize: Int(source.pointee.bytes[source.pointee.offset - 1]))
    let pixels = Int(file.pointee.Image.Width) * Int(file.pointee.Image.Height)
    var code: Int32 = 0
    var count = 0
    while codes.pixels < pixels {
      guard DGifGetLZCodes(file, &code) == GIF_OK else { throw lastError("in frame \(frames)") }
      guard code >= 0 else { throw Self.error(D_GIF_ERR_EOF_TOO_SOON, "in frame \(frames)") }
      guard codes.append(Int(code)) else { throw Self.error(D_GIF_ERR_IMAGE_DEFECT, "in frame \(frames)") }
      count += 1
      if count % Self.codesBetweenLooks == 0 { try deadline.check() }
    }
  }

  /// Goes to the end of a picture whose codes were checked.
  mutating func skipPicture() {
    var block: UnsafeMutablePointer<GifByteType>?
    repeat {
      guard DGifGetCodeNext(file, &block) == GIF_OK else { return endsBehindPixels() }
    } while block != nil
  }

  /// Calls `body` with each row of a picture whose codes were checked, and its place from the top: interlaced ones come in four
  /// passes (GIF89a, appendix E).
  mutating func readRows(
    deadline: DecodingDeadline,
    _ body: (_ y: Int, _ indices: UnsafeBufferPointer<UInt8>) -> Void
  ) throws(ImageError) {
    try rewind()
    let (width, height) = (Int(file.pointee.Image.Width), Int(file.pointee.Image.Height))
    let passes = file.pointee.Image.Interlace ? [(0, 8), (4, 8), (2, 4), (1, 2)] : [(0, 1)]
    let row = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: width)
    defer { row.deallocate() }
    var left = height
    for (start, step) in passes {
      for y in stride(from: start, to: height, by: step) {
        left -= 1
        if DGifGetLine(file, row.baseAddress, Int32(width)) != GIF_OK {
          // With the last row, giflib reads on to the end of the picture.
          guard left == 0, file.pointee.Error == D_GIF_ERR_READ_FAILED else { throw lastError("in frame \(frames)") }
          endsBehindPixels()
        }
        body(y, UnsafeBufferPointer(row))
        if left % Self.rowsBetweenLooks == 0 { try deadline.check() }
      }
    }
  }

  private mutating func endsBehindPixels() {
    warnings.append("giflib: the file ends behind the pixels of frame \(frames), without the picture's end")
  }

  private func rewind() throws(ImageError) {
    source.pointee.offset = descriptor
    try readDescriptor()
  }

  private static let codesBetweenLooks = 1 << 16
  private static let rowsBetweenLooks = 64
}
