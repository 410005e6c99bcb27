import ImageCoding
import Base
import TestSupport
import Testing

@Suite("formats for encoding images") struct RegistryEncodingTests {
  /// Encodes to the name of the format and the quality.
  private struct Naming: StubCoder {
    let formats: Set<ImageFormat>
    func canDecode(_ format: ImageFormat) -> Bool { false }
    func canEncode(_ format: ImageFormat) -> Bool { formats.contains(format) }
    func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
      Array("\(format.name) \(options.quality)".utf8)
    }
  }

  private let all = ImageCoderRegistry([Naming(formats: [.jpeg, .png, .webp])])

  private func image(_ format: ImageFormat, alpha: UInt8 = 255) -> DecodedImage {
    var image = decoded(2, 1, [[1, 2, 3, 255], [1, 2, 3, alpha]])
    image.header.format = format
    image.header.hasAlpha = true
    return image
  }

  private func written(_ image: DecodedImage, by registry: ImageCoderRegistry? = nil) throws -> String {
    String(decoding: try (registry ?? all).encode(image), as: UTF8.self)
  }

  @Test func `an image is encoded in its data's format at full quality`() throws {
    for format in [ImageFormat.jpeg, .png, .webp] {
      #expect(try written(image(format)) == "\(format.name) 100")
      #expect(try written(image(format, alpha: 0)) == "\(format.name) 100")
    }
  }

  @Test func `if its format cannot be written, transparent pixels give PNG and others JPEG`() throws {
    for format in [ImageFormat.gif, .avif, .heic] {
      #expect(try written(image(format)) == "jpeg 100")
      #expect(try written(image(format, alpha: 254)) == "png 100")
    }
  }

  @Test func `an animation stays animated if the format allows it`() throws {
    for format in [ImageFormat.gif, .webp, .png] {
      var moving = animated()
      moving.header.format = format
      #expect(try written(moving) == "webp 100")
      let first = EncodingOptions(firstFrameOnly: true)
      #expect(all.encodingFormat(for: moving, options: first) == (format == .gif ? .jpeg : format))
      let noWebP = ImageCoderRegistry([Naming(formats: [.jpeg, .png])])
      #expect(try written(moving, by: noWebP) == (format == .png ? "png 100" : "jpeg 100"))
    }
  }

  @Test func `a requested format and quality are used`() throws {
    let bytes = try all.encode(image(.png), as: .webp, options: EncodingOptions(quality: 7))
    #expect(String(decoding: bytes, as: UTF8.self) == "webp 7")
  }

  @Test func `a format without an encoder is rejected`() throws {
    #expect(imageError { try all.encode(image(.png), as: .gif) }?.kind == .unencodable)
    #expect(imageError { try ImageCoderRegistry().encode(image(.png)) }?.kind == .unencodable)
  }
}
