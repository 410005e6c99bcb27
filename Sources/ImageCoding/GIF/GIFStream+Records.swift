import CGIF
import ImagePrimitives

extension GIFStream {
  /// Goes to the next frame; nil at the end: at the trailer, or, which is odd, where the file stops between two blocks or goes on
  /// with something that is no block.
  mutating func nextFrame(limits: DecodingLimits) throws(ImageError) -> Frame? {
    var control = GIFGraphicControl()
    var hasExtension = false
    while true {
      blocks += 1
      guard blocks <= limits.maximumChunks else {
        throw .undecodable("the GIF file has more than \(limits.maximumChunks) blocks, which is what one file may have")
      }
      let isAtEnd = source.pointee.offset == source.pointee.bytes.count
      var type = UNDEFINED_RECORD_TYPE
      let status = DGifGetRecordType(file, &type)
      switch type {
      case IMAGE_DESC_RECORD_TYPE:
        try limits.check(frames: frames + 1)
        frames += 1
        descriptor = source.pointee.offset
        try readDescriptor()
        return try frame(control, limits: limits)
      case EXTENSION_RECORD_TYPE:
        hasExtension = true
        try readExtension(&control)
      default:
        guard status == GIF_ERROR else { return nil }
        // What announced a frame that does not come is part of a file that was cut.
        guard frames > 0, !(isAtEnd && hasExtension) else { throw lastError("behind frame \(frames)") }
        warnings.append(isAtEnd ? "giflib: the file ends without its trailer" : lastError("behind frame \(frames)").message)
        return nil
      }
    }
  }

  /// Reads the descriptor and its colours, and makes giflib ready for the first code.
  func readDescriptor() throws(ImageError) {
    guard DGifGetImageHeader(file) == GIF_OK else { throw lastError("in frame \(frames)") }
  }

  private func frame(_ control: GIFGraphicControl, limits: DecodingLimits) throws(ImageError) -> Frame {
    let image = file.pointee.Image
    let size = ImageSize(width: Int(image.Width), height: Int(image.Height))
    guard size.width > 0, size.height > 0 else {
      throw .undecodable("the GIF file's frame \(frames) is of \(size.width) x \(size.height) pixels")
    }
    try limits.check(size)
    return Frame(left: Int(image.Left), top: Int(image.Top), size: size, isInterlaced: image.Interlace, control: control)
  }

  private mutating func readExtension(_ control: inout GIFGraphicControl) throws(ImageError) {
    var label: Int32 = 0
    var block: UnsafeMutablePointer<GifByteType>?
    var isFirst = true
    var isLoopCount = false
    guard DGifGetExtension(file, &label, &block) == GIF_OK else { throw lastError("in a block behind frame \(frames)") }
    // Each sub-block comes with its length before it.
    while let start = block {
      let bytes = ByteView(UnsafeRawBufferPointer(start: start + 1, count: Int(start.pointee)))
      let range = 0..<bytes.count
      switch UInt8(truncatingIfNeeded: label) {
      case GIFGraphicControl.label where isFirst: control = GIFGraphicControl(bytes, range) ?? control
      case GIFLoopCount.label where isFirst: isLoopCount = GIFLoopCount.names(bytes, range)
      case GIFLoopCount.label where isLoopCount: loopCount = GIFLoopCount.read(bytes, range) ?? loopCount
      default: break
      }
      isFirst = false
      guard DGifGetExtensionNext(file, &block) == GIF_OK else { throw lastError("in a block behind frame \(frames)") }
    }
  }
}
