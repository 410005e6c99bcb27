import PrewarmImages

// guide
/// Keeps every second pixel of every second row.
struct HalfSize: ImageTransformer {
  let key = "half-size"

  func transform(_ image: DecodedImage) throws -> DecodedImage {
    let old = image.pixels.size
    let new = ImageSize(width: (old.width + 1) / 2, height: (old.height + 1) / 2)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(new.pixels * 4)
    for row in stride(from: 0, to: old.height, by: 2) {
      for column in stride(from: 0, to: old.width, by: 2) {
        let pixel = (row * old.width + column) * 4
        bytes += image.pixels.bytes[pixel..<pixel + 4]
      }
    }
    let header = ImageHeader(format: image.header.format, size: new, hasAlpha: image.header.hasAlpha)
    return DecodedImage(header: header, pixels: PixelBuffer(size: new, bytes: bytes))
  }
}
// end

/// For one request.
func loadHalf(_ manager: ImageManager, url: String) async throws -> ImageResponse {
  // guide
  var request = ImageRequest(url: url)
  request.decoding.transformer = HalfSize()
  let response = try await manager.response(for: request)
  // end
  return response
}

/// For all images of a manager, with a closure.
func makeGrey(cache: ImageCache, memory: ImageMemory) throws -> ImageManager {
  // guide
  let grey = ImageTransform.custom(key: "grey") { image in
    var image = image
    for pixel in stride(from: 0, to: image.pixels.bytes.count, by: 4) {
      let sum = image.pixels.bytes[pixel..<pixel + 3].reduce(0) { $0 + Int($1) }
      for channel in 0..<3 { image.pixels.bytes[pixel + channel] = UInt8(sum / 3) }
    }
    return image
  }
  let manager = try ImageManager(ImageManager.Configuration(cache: cache, memory: memory, transformer: grey))
  // end
  return manager
}
