import CWebP
import ImagePrimitives

/// libwebp's incremental decoder of one picture, and the rows that it made.
final class WebPRowDecoder {
  /// Rows that are there, from the top.
  private(set) var count = 0

  private let size: ImageSize
  private let decoder: OpaquePointer
  private let memory: UnsafeMutableBufferPointer<UInt8>
  private var isDone = false

  init(size: ImageSize) throws(ImageError) {
    self.size = size
    memory = .allocate(capacity: size.pixels * 4)
    memory.initialize(repeating: 0)
    guard let decoder = WebPINewRGB(MODE_RGBA, memory.baseAddress, memory.count, Int32(size.width * 4)) else {
      memory.deallocate()
      throw ImageError(.outOfMemory, "libwebp: out of memory")
    }
    self.decoder = decoder
  }

  deinit {
    WebPIDelete(decoder)
    memory.deallocate()
  }

  /// Reads on in a file of which `bytes` are all that is here; libwebp keeps no copy of them, and finds its place again wherever
  /// they lie now.
  func read(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    guard !isDone else { return }
    let status = WebPIUpdate(decoder, bytes.assumingMemoryBound(to: UInt8.self).baseAddress, bytes.count)
    if status != VP8_STATUS_SUSPENDED { try WebPStatus.check(status) }
    isDone = status == VP8_STATUS_OK
    var last: Int32 = 0
    if WebPIDecGetRGB(decoder, &last, nil, nil, nil) != nil { count = Int(last) }
  }

  /// The picture, transparent below the rows that are there.
  var pixels: PixelBuffer { PixelBuffer(size: size, bytes: Array(memory)) }
}
