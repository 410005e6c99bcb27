import ImageCoding
import Base
import TestSupport
import Testing

@Suite("progressive decoding of WebP") struct WebPProgressTests {
  /// The images that are returned while a file is appended in pieces.
  private func images(of bytes: [UInt8], piece: Int, limits: DecodingLimits = DecodingLimits()) throws -> [DecodedImage] {
    let decoder = try #require(ImageCoderRegistry.standard.progressiveDecoder(for: .webp, limits: limits))
    var images: [DecodedImage] = []
    for start in stride(from: 0, to: bytes.count, by: piece) {
      try Array(bytes[start..<min(start + piece, bytes.count)]).withUnsafeBytes { try decoder.append($0) }
      if let image = try decoder.image() { images.append(image) }
      #expect(try decoder.image() == nil, "no image is returned twice")
    }
    return images
  }

  private func transparentRows(_ pixels: PixelBuffer) -> Int {
    let row = pixels.size.width * 4
    let rows = stride(from: 0, to: pixels.bytes.count, by: row).reversed()
    return rows.prefix { pixels.bytes[$0..<$0 + row].allSatisfy { $0 == 0 } }.count
  }

  @Test(
    arguments: ["lossy.webp", "lossless.webp", "alpha.webp"],
    [1, 37, 100_000]
  )
  func `rows arrive from the top, and the last partial image is the whole one`(name: String, piece: Int) throws {
    let bytes = FixtureImage.named(name).bytes
    let images = try images(of: bytes, piece: piece)
    let whole = try Standard.decode(bytes)
    #expect(images.last?.pixels == whole.pixels)
    #expect(images.allSatisfy { $0.pixels.size == whole.pixels.size && $0.header.hasAlpha == whole.header.hasAlpha })
    let missing = images.map { transparentRows($0.pixels) }
    #expect(zip(missing, missing.dropFirst()).allSatisfy(>=))
    if piece < bytes.count, name != "alpha.webp" { #expect(missing[0] > 0 && images.count > 2) }
  }

  @Test func `an image is rotated once its orientation is known`() throws {
    let bytes = FixtureImage.named("rotated.webp").bytes
    let images = try images(of: bytes, piece: 10)
    #expect(images.first?.pixels.size == ImageSize(width: 120, height: 80))
    #expect(images.last?.pixels == (try Standard.decode(bytes).pixels))
  }

  @Test(
    arguments: ["animated.webp", "blended.webp"],
    [1, 300, 100_000]
  )
  func `an animation shows its first frame once that is complete`(name: String, piece: Int) throws {
    let bytes = FixtureImage.named(name).bytes
    let images = try images(of: bytes, piece: piece)
    #expect(images.map(\.pixels) == [try Standard.decode(bytes).pixels])
    #expect(images[0].header.isAnimated && images[0].animation == nil)
  }

  @Test func `invalid data and exceeded limits throw as soon as they are detected`() throws {
    func error(_ bytes: [UInt8], limits: DecodingLimits = DecodingLimits()) -> ImageError? {
      imageError { try images(of: bytes, piece: 16, limits: limits) }
    }
    let lossy = FixtureImage.named("lossy.webp").bytes
    #expect(error(Array("RIFF____AVI LIST".utf8) + lossy)?.kind == .notAnImage)
    #expect(error(lossy, limits: DecodingLimits(maximumPixels: 100))?.kind == .dimensions(maximumPixels: 100))
    #expect(error(lossy, limits: DecodingLimits(maximumBytes: 1_000))?.kind == .memory(maximumBytes: 1_000))
    var damaged = FixtureImage.named("lossless.webp").bytes
    for offset in 30..<damaged.count { damaged[offset] = 0xFF }
    expectGolden(error(damaged)?.message)
    #expect(try images(of: Array(lossy.dropLast(100)), piece: 16).count > 1)
  }

  @Test func `other formats are left to other coders`() {
    #expect(WebPCoder().progressiveDecoder(for: .gif, limits: DecodingLimits()) == nil)
    #expect(ImageCoderRegistry.standard.progressiveDecoder(for: .gif, limits: DecodingLimits()) == nil)
  }
}
