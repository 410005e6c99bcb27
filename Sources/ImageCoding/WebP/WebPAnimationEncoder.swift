import CWebP
import ImagePrimitives

/// Writes an animated WebP by libwebp's encoder of animations, which keeps of each frame what differs from the one before.
struct WebPAnimationEncoder: ~Copyable {
  private let encoder: OpaquePointer
  private var config: WebPConfig
  /// When the next frame begins.
  private var milliseconds = 0

  /// An encoder of frames of that size; `loopCount` is 0 for an animation that goes on for ever, and at most 65,535.
  init(size: ImageSize, loopCount: Int, config: WebPConfig) throws(ImageError) {
    var options = WebPAnimEncoderOptions()
    guard WebPAnimEncoderOptionsInit(&options) != 0 else { preconditionFailure("libwebp has another ABI than its headers") }
    options.anim_params.loop_count = Int32(min(loopCount, 0xFFFF))
    guard let encoder = WebPAnimEncoderNew(Int32(size.width), Int32(size.height), &options) else {
      throw ImageError(.outOfMemory, "libwebp: out of memory")
    }
    self.encoder = encoder
    self.config = config
  }

  deinit { WebPAnimEncoderDelete(encoder) }

  /// Adds the next frame, to be shown for that time, in whole milliseconds.
  mutating func append(_ pixels: PixelBuffer, duration: Duration) throws(ImageError) {
    var picture = try WebPSource(pixels, isLossless: true)
    guard picture.add(to: encoder, milliseconds: Int32(milliseconds), &config) else { throw lastError }
    milliseconds += max(0, Int(duration / .milliseconds(1)))
    guard milliseconds <= Int32.max else {
      throw ImageError(.unencodable, "the animation is shown for more than \(Int32.max) ms, which a WebP cannot say")
    }
  }

  /// The file.
  func finish() throws(ImageError) -> [UInt8] {
    guard WebPAnimEncoderAdd(encoder, nil, Int32(milliseconds), nil) != 0 else { throw lastError }
    var data = WebPData()
    WebPDataInit(&data)
    defer { WebPDataClear(&data) }
    guard WebPAnimEncoderAssemble(encoder, &data) != 0 else { throw lastError }
    return Array(UnsafeBufferPointer(start: data.bytes, count: data.size))
  }

  private var lastError: ImageError {
    ImageError(.unencodable, "libwebp: \(WebPAnimEncoderGetError(encoder).map { String(cString: $0) } ?? "no reason given")")
  }
}
