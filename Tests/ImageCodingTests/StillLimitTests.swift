import ImageCoding
import Base
import TestSupport
import Testing

@Suite("limits of JPEG and PNG") struct StillLimitTests {
  @Test func `a header of 2^62 pixels is rejected whatever is allowed`() {
    let png = PNGBuilder(width: 0x7FFF_FFFF, height: 0x7FFF_FFFF)
    let file = PNGBuilder.signature + png.header + PNGBuilder.chunk("IDAT", [1]) + PNGBuilder.end
    #expect(rejection(file, DecodingLimits(maximumPixels: .max))?.kind == .dimensions(maximumPixels: 1 << 40))
  }

  @Test(
    arguments: ["zTXt", "iTXt", "iCCP"]
  )
  func `text and profiles that decompress beyond the limit are rejected`(name: String) throws {
    let head: [UInt8] = name == "iTXt" ? [0x61, 0, 1, 0, 0, 0] : [0x61, 0, 0]
    func file(_ matches: Int) -> [UInt8] {
      var png = PNGBuilder(width: 2, height: 2)
      png.before = PNGBuilder.chunk(name, head + PNGBuilder.bomb(matches))
      return png.file()
    }
    let limit = 16 << 20
    #expect(throws: Never.self) { try Standard.prove(file(limit / 258 - 1)) }
    let error = rejection(file(400 << 20 / 258))
    #expect(error?.kind == .undecodable)
    expectGolden(error?.message, for: name)
  }

  @Test func `too many chunks or segments are rejected`() {
    var png = PNGBuilder(width: 2, height: 2)
    png.before = Array(repeatElement(PNGBuilder.chunk("tEXt", [0x61, 0]), count: 20).joined())
    #expect(rejection(png.file(), DecodingLimits(maximumChunks: 20)) == nil)
    expectGolden(rejection(png.file(), DecodingLimits(maximumChunks: 19))?.message)
    png.before = Array(repeatElement(PNGBuilder.chunk("prVt", []), count: 10_001).joined())
    #expect(rejection(png.file())?.kind == .undecodable)
    let flat = FlatJPEG(width: 8, height: 8).bytes
    let comments = Array(repeatElement(FlatJPEG.segment(0xFE, [0x61]), count: 10_001).joined())
    #expect(rejection(flat, DecodingLimits(maximumChunks: 4)) == nil)
    expectGolden(rejection(flat[..<2] + comments + flat[2...])?.message)
  }

  @Test func `image data in many pieces is accepted`() throws {
    let data = PNGBuilder.rows(50, 50, [7])
    let pieces = data.flatMap { PNGBuilder.chunk("IDAT", [$0]) }
    let png = PNGBuilder(width: 50, height: 50)
    let file = PNGBuilder.signature + png.header + pieces + PNGBuilder.end
    #expect(
      try Standard.decode(file, limits: DecodingLimits(maximumChunks: 10)).pixels == Standard.decode(png.file(grey: 7)).pixels
    )
  }

  @Test(arguments: [false, true]) func `a file that takes too long is rejected`(isProgressive: Bool) {
    let bytes = FlatJPEG(width: 4000, height: 4000, isProgressive: isProgressive).bytes
    let error = rejection(bytes, DecodingLimits(maximumTime: .microseconds(10)))
    #expect(error?.kind == .undecodable)
    expectGolden(error?.message)
    for name in ["rgb.png", "interlaced.png"] {
      #expect(rejection(FixtureImage.named(name).bytes, DecodingLimits(maximumTime: .zero))?.kind == .undecodable)
    }
  }

  @Test func `decoding counts pixels, rotated ones twice, and progressive coefficients`() throws {
    func least(_ bytes: [UInt8]) -> Int {
      var (low, high) = (0, 1 << 30)
      while low < high {
        let middle = (low + high) / 2
        if imageError({ try Standard.decode(bytes, limits: DecodingLimits(maximumBytes: middle)) })?.kind
          == .memory(maximumBytes: middle)
        {
          low = middle + 1
        } else {
          high = middle
        }
      }
      return low
    }
    let pixels = 800 * 600 * 4
    let baseline = least(FlatJPEG(width: 800, height: 600).bytes)
    #expect((pixels..<pixels + 2 << 20).contains(baseline))
    // 4:2:0 has one and a half samples per pixel, of 2 bytes each.
    let progressive = least(FlatJPEG(width: 800, height: 608, isProgressive: true).bytes)
    #expect(progressive - least(FlatJPEG(width: 800, height: 608).bytes) == 800 * 608 * 3)
    let upright = PNGBuilder(width: 200, height: 100)
    var turned = upright
    turned.before = PNGBuilder.chunk("eXIf", Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0])
    #expect(least(turned.file()) - least(upright.file()) >= 200 * 100 * 4 - 100 * 32)
  }

  @Test func `a shared memory budget is returned, even after a rejection`() throws {
    let budget = DecodingBudget(bytes: 1 << 20)
    let limits = DecodingLimits(budget: budget)
    for name in ["photo.jpg", "rgb.png", "animated.png"] {
      _ = try Standard.decode(FixtureImage.named(name).bytes, limits: limits)
    }
    for name in ["cut.jpg", "bad-crc.png"] {
      #expect(imageError { try Standard.decode(Fixtures.bytes("images/broken/\(name)"), limits: limits) } != nil)
    }
    #expect(budget.takenBytes == 0)
  }

  @Test func `a 12-bit JPEG is rejected with the library's message`() throws {
    var bytes = FlatJPEG(width: 8, height: 8).bytes
    let frame = try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xC0 })
    bytes[frame + 4] = 12
    expectGolden(rejection(bytes)?.message)
  }
}
