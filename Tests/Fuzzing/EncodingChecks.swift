import ImageCoding
import Base

/// Checks that encoders write decoded images in a form that their coders can decode again.
struct EncodingChecks {
  private let image: DecodedImage
  private let limits: DecodingLimits

  init(_ image: DecodedImage, limits: DecodingLimits) {
    self.image = image
    self.limits = limits
  }

  func run() {
    for format in ImageFormat.allCases {
      guard let encoder = ImageCoderRegistry.standard.encoder(for: format),
        let coder = ImageCoderRegistry.standard.coder(for: format)
      else {
        continue
      }
      let options = EncodingOptions(quality: 50, isLossless: true)
      do throws(ImageError) {
        let bytes = try encoder.encode(image, as: format, options: options)
        let again = try bytes.withRawBytes { bytes throws(ImageError) in
          try coder.decode(bytes, options: DecodingOptions(), limits: limits)
        }
        demand(
          again.pixels.size == image.pixels.size,
          "encoded as \(format.name): \(again.pixels.size), not \(image.pixels.size)"
        )
        if format == .png { demand(again.pixels == image.pixels, "encoding as PNG changed the pixels") }
      } catch {
        demand(error.isOfLimits, "encoded as \(format.name): \(error.message)")
      }
    }
  }
}
