import ImageCoding
import Base
import TestSupport
import Testing

@Suite("WebP") struct WebPTests {
  /// A still fixture with another canvas size in its VP8X chunk.
  private func withCanvas(_ name: String, width: Int, height: Int) -> [UInt8] {
    var bytes = FixtureImage.named(name).bytes
    for (offset, number) in [(24, width - 1), (27, height - 1)] {
      for byte in 0..<3 { bytes[offset + byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
    }
    return bytes
  }

  /// A file with additional chunks at its end and an adjusted length.
  private func with(_ chunks: [UInt8], behind name: String) -> [UInt8] {
    var bytes = FixtureImage.named(name).bytes + chunks
    withUnsafeBytes(of: UInt32(bytes.count - 8).littleEndian) { bytes.replaceSubrange(4..<8, with: $0) }
    return bytes
  }

  @Test(
    arguments: [
      ("lossy.webp", ImageHeader.ColorSpace.ycbcr), ("alpha.webp", .ycbcr), ("lossless.webp", .rgb), ("animated.webp", .ycbcr),
      ("moving-lossless.webp", .rgb), ("blended.webp", .ycbcr),
    ]
  )
  func `the header has the colour space and the profile's name`(name: String, colorSpace: ImageHeader.ColorSpace) throws {
    let header = try Standard.header(FixtureImage.named(name).bytes)
    #expect(header.colorSpace == colorSpace)
    #expect(header.profile == nil)
    guard name != "lossy.webp", name != "lossless.webp" else { return }
    // If the file has a VP8X chunk, a profile may follow.
    let bytes = FixtureImage.named(name).bytes
    let profiled = Array(bytes[..<30] + Array("ICCP".utf8) + [4, 0, 0, 0, 1, 2, 3, 4] + bytes[30...])
    #expect(try Standard.header(profiled, prefix: profiled.count).profile == ICCProfile(name: nil))
  }

  @Test(
    arguments: ["lossy.webp", "lossless.webp", "alpha.webp", "rotated.webp"]
  )
  func `libwebp scales still images while decoding`(name: String) throws {
    let image = FixtureImage.named(name)
    let whole = try Standard.decode(image.bytes)
    let options = DecodingOptions(thumbnail: ImageSize(width: image.size.width / 4, height: 1_000))
    let small = try Standard.decode(image.bytes, options: options)
    #expect(small.header == whole.header)
    #expect(small.pixels.size == options.decodedSize(of: image.size))
    // About the mean of the area that it represents, as far as it is opaque.
    let expected = whole.pixels.bytes.enumerated().reduce(into: [0.0, 0, 0, 0]) { $0[$1.offset % 4] += Double($1.element) }
    let found = small.pixels.bytes.enumerated().reduce(into: [0.0, 0, 0, 0]) { $0[$1.offset % 4] += Double($1.element) }
    for channel in name == "alpha.webp" ? 3..<4 : 0..<4 {
      let difference = expected[channel] / Double(whole.pixels.bytes.count) - found[channel] / Double(small.pixels.bytes.count)
      #expect(abs(difference * 4) < 3, "channel \(channel)")
    }
  }

  @Test func `a thumbnail of a lossy image never holds the whole image in memory`() throws {
    let bytes = FixtureImage.named("lossy.webp").bytes
    let limits = DecodingLimits(maximumBytes: 1_400_000)
    #expect(imageError { try Standard.decode(bytes, limits: limits) }?.kind == .memory(maximumBytes: 1_400_000))
    let options = DecodingOptions(thumbnail: ImageSize(width: 120, height: 80))
    #expect(try Standard.decode(bytes, options: options, limits: limits).byteCount == 120 * 80 * 4)
  }

  @Test func `a canvas whose size doesn't match its images is rejected`() {
    for name in ["rotated.webp", "alpha.webp", "animated.webp", "blended.webp"] {
      for (width, height) in [(1, 1), (79, 60), (80, 59), (16_384, 16_384), (1 << 24, 1 << 24)] {
        let bytes = withCanvas(name, width: width, height: height)
        let error = rejection(bytes)
        #expect(error != nil, "\(name) as \(width) x \(height)")
        if width > 10_000 { #expect(error?.kind == .dimensions(maximumPixels: 100_000_000)) }
      }
    }
  }

  @Test func `an incomplete chunk is rejected; complete ones and trailing data are accepted`() {
    for name in ["lossy.webp", "alpha.webp", "animated.webp"] {
      let more = Array("abcd".utf8)
      #expect(throws: Never.self) { try Standard.decode(with(more + [4, 0, 0, 0] + more, behind: name)) }
      #expect(throws: Never.self) { try Standard.decode(FixtureImage.named(name).bytes + more) }
      for bytes in [with(more + [8, 0, 0, 0] + more, behind: name), with(more + [3, 0, 0, 0, 1, 2, 3], behind: name)] {
        expectGolden(rejection(bytes)?.message)
      }
    }
  }

  @Test func `the number of chunks is limited`() {
    let bytes = with(Array(repeating: Array("abcd".utf8) + [0, 0, 0, 0], count: 50).flatMap(\.self), behind: "animated.webp")
    #expect(throws: Never.self) { try Standard.prove(bytes) }
    let error = imageError { try Standard.prove(bytes, limits: DecodingLimits(maximumChunks: 50)) }
    expectGolden(error?.message)
  }
}
