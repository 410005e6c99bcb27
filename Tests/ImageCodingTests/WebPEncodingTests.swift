import ImageCoding
import Base
import TestSupport
import Testing

@Suite("encoding of WebP") struct WebPEncodingTests {
  private func encoded(_ image: DecodedImage, _ options: EncodingOptions) throws -> [UInt8] {
    try #require(ImageCoderRegistry.standard.encoder(for: .webp)).encode(image, as: .webp, options: options)
  }

  @Test(arguments: ["rgb.png", "rgba.png", "bilevel.png"])
  func `lossless encoding keeps all pixels, even hidden ones`(name: String) throws {
    var image = try Standard.decode(FixtureImage.named(name).bytes)
    if image.header.hasAlpha {
      for offset in stride(from: 3, to: 4_000, by: 8) { image.pixels.bytes[offset] = 0 }
    }
    let again = try Standard.decode(encoded(image, EncodingOptions(isLossless: true)))
    #expect(again.pixels == image.pixels)
    #expect(again.header.colorSpace == .rgb)
  }

  @Test(
    arguments: ["rgb.png", "rgba.png"]
  )
  func `a higher quality takes more bytes and changes less, and alpha is unchanged`(name: String) throws {
    let image = try Standard.decode(FixtureImage.named(name).bytes)
    let files = try [10, 50, 95].map { try encoded(image, EncodingOptions(quality: $0)) }
    #expect(files[0].count < files[1].count && files[1].count < files[2].count)
    let opaque = name == "rgb.png"
    let decoded = try files.map { try Standard.decode($0) }
    if opaque {
      let differences = decoded.map { $0.pixels.difference(from: image.pixels).mean }
      #expect(differences[0] > differences[1] && differences[1] > differences[2] && differences[2] < 5)
    }
    for result in decoded {
      #expect(result.header.colorSpace == .ycbcr && result.header.hasAlpha == !opaque)
      #expect(
        stride(from: 3, to: image.pixels.bytes.count, by: 4).allSatisfy { result.pixels.bytes[$0] == image.pixels.bytes[$0] }
      )
    }
  }

  @Test func `the quality is lowered until a file fits, and no further`() throws {
    let image = try Standard.decode(FixtureImage.named("photo.jpg").bytes)
    let free = try encoded(image, EncodingOptions(quality: 90))
    let tight = try encoded(image, EncodingOptions(quality: 90, maximumBytes: free.count / 3))
    #expect(tight.count <= free.count / 3 && tight.count > free.count / 5)
    #expect(try encoded(image, EncodingOptions(quality: 90, maximumBytes: free.count)) == free)
    for options in [EncodingOptions(maximumBytes: 100), EncodingOptions(isLossless: true, maximumBytes: 100)] {
      let error = imageError { try encoded(image, options) }
      #expect(error?.kind == .unencodable)
      expectGolden(error?.message)
    }
  }

  @Test func `an image is reduced to its box and never enlarged`() throws {
    let image = try Standard.decode(FixtureImage.named("rgba.png").bytes)
    let options = EncodingOptions(isLossless: true, maximumSize: ImageSize(width: 30, height: 60))
    #expect(try Standard.decode(encoded(image, options)).pixels.size == ImageSize(width: 30, height: 30))
    let larger = EncodingOptions(isLossless: true, maximumSize: ImageSize(width: 300, height: 600))
    #expect(try Standard.decode(encoded(image, larger)).pixels == image.pixels)
  }

  @Test func `a side above 16,383 pixels is rejected unless a smaller size is requested`() throws {
    let size = ImageSize(width: 16_384, height: 1)
    let pixels = PixelBuffer(size: size, bytes: Array(repeating: 255, count: size.pixels * 4))
    let image = DecodedImage(header: ImageHeader(format: .png, size: size), pixels: pixels)
    let error = imageError { try encoded(image, EncodingOptions()) }
    #expect(error?.kind == .unencodable)
    expectGolden(error?.message)
    let smaller = EncodingOptions(maximumSize: ImageSize(width: 16_383, height: 10))
    #expect(try Standard.header(encoded(image, smaller)).size == ImageSize(width: 16_383, height: 1))
  }

  @Test(arguments: FixtureAnimation.all) func `an animation keeps its frames, durations and loops`(_ fixture: FixtureAnimation)
    throws
  {
    let image = try Standard.decode(FixtureImage.named(fixture.name).bytes)
    let again = try Standard.decode(encoded(image, EncodingOptions(isLossless: true)))
    let (before, after) = (try #require(image.animation), try #require(again.animation))
    #expect(after.loopCount == before.loopCount)
    #expect(after.frames.map(\.duration) == before.frames.map(\.duration))
    for (left, right) in zip(before.frames, after.frames) { #expect(worstVisibleDifference(left.pixels, right.pixels) == 0) }

    let first = try Standard.decode(encoded(image, EncodingOptions(isLossless: true, firstFrameOnly: true)))
    #expect(first.animation == nil && worstVisibleDifference(first.pixels, image.pixels) == 0)
    let small = EncodingOptions(maximumSize: ImageSize(width: 40, height: 40))
    #expect(try Standard.decode(encoded(image, small)).animation?.frames.last?.pixels.size == ImageSize(width: 40, height: 30))
  }

  @Test func `an animation must fit its byte limit too`() throws {
    let image = try Standard.decode(FixtureImage.named("blended.webp").bytes)
    let free = try encoded(image, EncodingOptions(quality: 100))
    let tight = try encoded(image, EncodingOptions(quality: 100, maximumBytes: free.count / 2))
    #expect(tight.count <= free.count / 2)
    #expect(try Standard.decode(tight).animation?.frames.count == 4)
  }

  @Test func `other formats are left to other coders`() throws {
    let image = try Standard.decode(FixtureImage.named("rgb.png").bytes)
    #expect(!WebPCoder().canEncode(.gif) && !GIFCoder().canEncode(.gif))
    #expect(imageError { try WebPCoder().encode(image, as: .gif, options: EncodingOptions()) }?.kind == .unencodable)
  }

  private func worstVisibleDifference(_ left: PixelBuffer, _ right: PixelBuffer) -> Int {
    stride(from: 0, to: left.bytes.count, by: 4).reduce(0) { worst, offset in
      if left.bytes[offset + 3] == 0, right.bytes[offset + 3] == 0 { return worst }
      return (offset..<offset + 4).reduce(worst) { max($0, abs(Int(left.bytes[$1]) - Int(right.bytes[$1]))) }
    }
  }
}
