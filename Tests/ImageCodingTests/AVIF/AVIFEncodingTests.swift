import ImageCoding
import Base
import TestSupport
import Testing

@Suite("encoding AVIF") struct AVIFEncodingTests {
  private func encode(_ image: DecodedImage, _ options: EncodingOptions) throws -> [UInt8] {
    try AVIFCoder().encode(image, as: .avif, options: options)
  }

  @Test func `an image keeps its size and its pixels, the more the higher the quality`() throws {
    let photo = try Standard.decode(FixtureImage.named("photo.jpg").bytes)
    var sizes: [Int] = []
    for quality in [20, 60, 95] {
      let bytes = try encode(photo, EncodingOptions(quality: quality))
      let read = try Standard.decode(bytes)
      #expect(read.header.format == .avif && read.pixels.size == photo.pixels.size && !read.header.hasAlpha)
      sizes.append(bytes.count)
      if quality == 95 { #expect(read.pixels.difference(from: photo.pixels).largest < 40) }
    }
    #expect(sizes == sizes.sorted() && sizes[0] * 2 < sizes[2])
  }

  @Test(arguments: ["rgba.png", "rgb.png"])
  func `a lossless image has the same pixels, with alpha or without`(name: String) throws {
    let image = try Standard.decode(FixtureImage.named(name).bytes)
    let read = try Standard.decode(try encode(image, EncodingOptions(isLossless: true)))
    #expect(read.header.hasAlpha == (name == "rgba.png"))
    for start in stride(from: 0, to: image.pixels.bytes.count, by: 4) where image.pixels.bytes[start + 3] > 0 {
      #expect(read.pixels.bytes[start..<start + 4] == image.pixels.bytes[start..<start + 4])
    }
  }

  @Test func `an animation keeps its frames and durations`() throws {
    let moving = try Standard.decode(FixtureImage.named("animated.webp").bytes)
    let frames = try #require(moving.animation?.frames)
    let read = try Standard.decode(try encode(moving, EncodingOptions(quality: 80)))
    #expect(read.animation?.frames.map(\.duration) == frames.map(\.duration))
    #expect(try Standard.decode(try encode(moving, EncodingOptions(firstFrameOnly: true))).animation == nil)
  }

  @Test func `bytes and sides are limited`() throws {
    let photo = try Standard.decode(FixtureImage.named("photo.jpg").bytes)
    let free = try encode(photo, EncodingOptions(quality: 90))
    let bounded = try encode(photo, EncodingOptions(quality: 90, maximumBytes: free.count / 2))
    #expect(bounded.count <= free.count / 2)
    #expect(imageError { try encode(photo, EncodingOptions(maximumBytes: 50)) }?.kind == .unencodable)
    let small = try Standard.header(try encode(photo, EncodingOptions(maximumSize: ImageSize(width: 30, height: 30))))
    #expect(max(small.size.width, small.size.height) == 30)
    let long = DecodedImage(
      header: ImageHeader(format: .png, size: ImageSize(width: 65_537, height: 1)),
      pixels: PixelBuffer(size: ImageSize(width: 65_537, height: 1), bytes: Array(repeating: 255, count: 65_537 * 4))
    )
    expectGolden(imageError { try encode(long, EncodingOptions()) }?.message)
    #expect(imageError { try AVIFCoder().encode(photo, as: .webp, options: EncodingOptions()) }?.kind == .unencodable)
  }
}
