import ImageCoding
import Base
import TestSupport
import Testing

@Suite("BMP variants") struct BMPTests {
  @Test func `headers have the properties of the files`() throws {
    func header(_ name: String) throws -> ImageHeader { try Standard.header(FixtureImage.named(name).bytes) }
    let photo = try header("photo.bmp")
    #expect(photo.format == .bmp && photo.frames == 1 && photo.metadata.dpi == 300)
    #expect(try header("os2.bmp").dpi == nil)
    #expect(try header("profile.bmp").profile == ICCProfile(name: "sRGB built-in"))
    #expect(try Standard.header(FixtureImage.named("profile.bmp").bytes, prefix: 138).profile == ICCProfile(name: nil))
    let mixed = try header("mixed.ico")
    #expect(mixed.format == .ico && mixed.frames == 4 && !mixed.isAnimated && mixed.size == ImageSize(width: 256, height: 256))
    #expect(try header("large.ico").size == ImageSize(width: 512, height: 512))
  }

  @Test func `a complete file of a few bytes that claims many pixels has an undecodable header`() {
    let huge = Fixtures.bytes("images/bmp/broken/huge.bmp")
    #expect(imageError { try Standard.header(huge) }?.kind == .undecodable)
    for side in [Int(Int32.max), 1] {
      let largest = BMPMaker(width: Int(Int32.max), height: side, bits: 32).file
      #expect(imageError { try Standard.header(largest) }?.kind == .undecodable)
    }
  }

  @Test func `rows are stored from the bottom, or with a negative height from the top`() throws {
    var maker = BMPMaker(width: 1, height: 2)
    maker.data = [1, 2, 3, 0, 4, 5, 6, 0]
    #expect(try Standard.decode(maker.file).pixels.bytes == [6, 5, 4, 255, 3, 2, 1, 255])
    maker.height = -2
    #expect(try Standard.decode(maker.file).pixels.bytes == [3, 2, 1, 255, 6, 5, 4, 255])
  }

  @Test func `2 bits per pixel are indices`() throws {
    var maker = BMPMaker(width: 5, height: 1, bits: 2, colors: 3)
    maker.data = [1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 0, 0b0001_1011, 0b0100_0000, 0, 0]
    // The palette has no fourth colour.
    let values = try Standard.decode(maker.file).pixels.bytes
    #expect(stride(from: 0, to: 20, by: 4).map { values[$0] } == [1, 2, 3, 0, 2])
    #expect(stride(from: 3, to: 20, by: 4).allSatisfy { values[$0] == 255 })
  }

  @Test func `an OS/2 header of 16 bytes has only the size and the depth`() throws {
    let maker = BMPMaker(width: 2, height: 1, headerLength: 16, data: [1, 2, 3, 4, 5, 6, 0, 0], pixels: 30)
    #expect(try Standard.decode(maker.file).pixels.bytes == [3, 2, 1, 255, 6, 5, 4, 255])
  }

  @Test(
    arguments: [
      (16, [0xF000, 0x0F00, 0x00F0, 0x000F], [0x84, 0xF2], [255, 34, 136, 68]),
      (16, [0x7C00, 0x03E0, 0x001F, 0x8000], [0x1F, 0x7C], [255, 0, 255, 0]),
      (32, [0x3FF0_0000, 0x000F_FC00, 0x0000_03FF, 0xC000_0000], [0xFF, 0x03, 0x08, 0x60], [128, 128, 255, 85]),
      (24, [0x0000_00FF, 0x0000_FF00, 0x00FF_0000, 0], [1, 2, 3], [1, 2, 3, 255]),
      (32, [0, 0x0000_FF00, 0, 0], [1, 2, 3, 4], [0, 2, 0, 255]),
      (32, [0, 0, 0, 0], [1, 2, 3, 4], [3, 2, 1, 4]),
    ] as [(Int, [UInt32], [UInt8], [Int])]
  )
  func `masks of any width and position are scaled to 8 bits`(bits: Int, masks: [UInt32], pixel: [UInt8], expected: [Int]) throws
  {
    let data = pixel + [UInt8](repeating: 0, count: 4 - pixel.count)
    for length in [56, 108, 124] {
      let maker = BMPMaker(width: 1, height: 1, bits: bits, compression: 3, headerLength: length, masks: masks, data: data)
      let values = try Standard.decode(maker.file).pixels.bytes.map(Int.init)
      #expect(zip(values, expected).allSatisfy { abs($0 - $1) <= 1 }, "\(values)")
    }
    // BI_ALPHABITFIELDS: four masks after the header.
    let behind = BMPMaker(width: 1, height: 1, bits: bits, compression: 6, masks: masks, data: data)
    let values = try Standard.decode(behind.file).pixels.bytes.map(Int.init)
    #expect(zip(values, expected).allSatisfy { abs($0 - $1) <= 1 }, "\(values)")
    #expect(try Standard.header(behind.file, prefix: 14 + 40 + 16) == Standard.header(behind.file))
    #expect(imageError { try Standard.header(behind.file, prefix: 54) }?.kind == .needsMoreBytes(minimum: 70))
  }

  @Test(
    arguments: [
      [0xFF00, 0x0FF0, 0xFF, 0], [0xF0F, 0xF000, 0xF_0000, 0], [0, 0, 0, 0xFF], [0x1_0000, 0xF0, 0xF, 0],
    ] as [[UInt32]]
  )
  func `invalid masks are rejected`(masks: [UInt32]) {
    let bits = masks[0] == 0x1_0000 ? 16 : 32
    let maker = BMPMaker(width: 1, height: 1, bits: bits, compression: 3, headerLength: 56, masks: masks, data: [1, 2, 3, 4])
    #expect(rejection(maker.file)?.kind == .undecodable)
    expectGolden(rejection(maker.file)?.message)
  }

  @Test(
    arguments: [
      (0, 4, 40), (0, 5, 40), (1, 3, 64), (24, 4, 64), (8, 2, 40), (4, 1, 40), (24, 1, 40), (8, 3, 40), (5, 0, 40), (32, 9, 40),
      (24, 0, 41),
    ]
  )
  func `unsupported variants are rejected by the header`(bits: Int, compression: Int, length: Int) {
    let maker = BMPMaker(bits: bits, compression: compression, headerLength: length, data: [UInt8](repeating: 0, count: 2000))
    let error = imageError {
      try maker.file.withUnsafeBytes { try BMPCoder().header(of: $0, isComplete: true) }
    }
    #expect(error?.kind == .undecodable)
    expectGolden(error?.message, for: "\(bits) bits, compression \(compression), header \(length)")
  }

  @Test func `invalid sizes, palettes and offsets are rejected`() {
    let data = [UInt8](repeating: 0, count: 100)
    for maker in [
      BMPMaker(width: 0, data: data), BMPMaker(width: -2, data: data), BMPMaker(height: 0, data: data),
      BMPMaker(bits: 8, colors: 65_537, data: data), BMPMaker(data: data, pixels: 53),
    ] {
      #expect(rejection(maker.file)?.kind == .undecodable)
      expectGolden(rejection(maker.file)?.message)
    }
  }

  @Test func `a missing offset, one before the palette, and a large palette are accepted`() throws {
    let colors = (0..<300).flatMap { [UInt8($0 & 255), 7, 9, 0] as [UInt8] }
    for offset in [0, 54, 54 + 1200] {
      let maker = BMPMaker(width: 1, height: 1, bits: 8, colors: 300, data: colors + [3, 0, 0, 0], pixels: offset)
      #expect(try Standard.decode(maker.file).pixels.bytes == [9, 7, 3, 255])
    }
  }

  @Test func `only the padding of the last row may be missing`() {
    let maker = BMPMaker(width: 1, height: 2, data: [1, 2, 3, 0, 4, 5, 6, 0])
    #expect(rejection(Array(maker.file.dropLast(1))) == nil)
    expectGolden(rejection(Array(maker.file.dropLast(2)))?.message)
  }

  @Test func `a profile outside the file isn't reported`() throws {
    var maker = BMPMaker(width: 1, height: 1, headerLength: 124, masks: [0, 0, 0, 0, 0x4D42_4544], data: [1, 2, 3, 0])
    maker.masks += [UInt32](repeating: 0, count: 13) + [120, 50]
    #expect(try Standard.header(maker.file).profile == nil)
    #expect(try Standard.header(maker.file, prefix: 138).profile == ICCProfile(name: nil))
  }

  @Test func `the time limit is checked between rows`() {
    let limits = DecodingLimits(maximumTime: .nanoseconds(1))
    expectGolden(imageError { try Standard.decode(FixtureImage.named("photo.bmp").bytes, limits: limits) }?.message)
    expectGolden(imageError { try Standard.prove(FixtureImage.named("runs.bmp").bytes, limits: limits) }?.message)
    expectGolden(imageError { try Standard.prove(FixtureImage.named("mixed.ico").bytes, limits: limits) }?.message)
  }
}

@Suite("BMP run-length codes") struct BMPRunTests {
  /// A file of 4 x 3 pixels whose palette has the indices as red.
  private func file(_ codes: [UInt8], bits: Int = 8) -> [UInt8] {
    let palette = (0..<16).flatMap { [0, 0, UInt8($0), 0] as [UInt8] }
    return BMPMaker(
      width: 4,
      height: 3,
      bits: bits,
      compression: bits == 8 ? 1 : 2,
      colors: 16,
      data: palette + codes,
      pixels: 54 + 64
    ).file
  }

  /// The indices from the top, as rows of digits.
  private func rows(_ codes: [UInt8], bits: Int = 8) throws -> String {
    let bytes = file(codes, bits: bits)
    let image = try Standard.decode(bytes)
    #expect(try Standard.prove(bytes).warnings == image.warnings)
    let indices = stride(from: 0, to: image.pixels.bytes.count, by: 4).map { String(image.pixels.bytes[$0], radix: 16) }
    let rows = stride(from: 0, to: 12, by: 4).map { indices[$0..<$0 + 4].joined() }.joined(separator: " ")
    return image.warnings.isEmpty ? rows : rows + "; " + image.warnings.joined(separator: "; ")
  }

  @Test(
    arguments: [
      ([4, 1, 0, 0, 4, 2, 0, 0, 4, 3, 0, 0, 0, 1], "3333 2222 1111"),
      // Without the last line's end and the bitmap's.
      ([4, 1, 0, 0, 4, 2, 0, 0, 4, 3], "3333 2222 1111"),
      ([0, 4, 1, 2, 3, 4, 0, 0, 0, 3, 5, 6, 7, 0, 1, 8, 0, 0, 4, 9, 0, 1], "9999 5678 1234"),
      // Short rows, an empty one, and a jump over the rest.
      ([2, 1, 0, 0, 0, 0, 1, 3, 0, 0], "3000 0000 1100"),
      ([1, 1, 0, 2, 1, 1, 1, 2, 0, 2, 0, 1, 1, 3, 0, 0], "0003 0020 1000"),
      ([1, 1, 0, 2, 0, 3], "0000 0000 1000"),
    ] as [([UInt8], String)]
  )
  func `runs, copies, line ends and jumps make rows from the bottom`(codes: [UInt8], expected: String) throws {
    #expect(try rows(codes) == expected)
  }

  @Test(
    arguments: [
      ([4, 0x12, 0, 0, 3, 0x34, 1, 0x50, 0, 0, 0, 4, 0x67, 0x89, 0, 1], "6789 3435 1212"),
      ([0, 3, 0x12, 0x30, 1, 0x40, 0, 0, 4, 0x11, 0, 0, 4, 0x22], "2222 1111 1234"),
    ] as [([UInt8], String)]
  )
  func `with 4 bits, runs alternate between two colours`(codes: [UInt8], expected: String) throws {
    #expect(try rows(codes, bits: 4) == expected)
  }

  @Test(
    arguments: [
      [9, 1, 3, 2, 0, 0, 4, 2, 0, 0, 4, 3],
      [4, 1, 0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0, 4, 3],
      [4, 1, 0, 0, 0, 2, 9, 1, 1, 3, 0, 0],
    ] as [[UInt8]]
  )
  func `pixels beyond a row are dropped with a warning`(codes: [UInt8]) throws {
    expectGolden(try rows(codes))
  }

  @Test(
    arguments: [
      [], [4], [4, 1, 0, 0, 4, 2, 0, 0, 3, 3], [4, 1, 0, 0, 4, 2, 0, 0, 3, 3, 0, 1], [4, 1, 0, 1], [4, 1, 0, 2, 0],
      [0, 4, 1, 2, 3], [4, 1, 0, 0, 4, 2, 0, 0, 0, 1],
    ] as [[UInt8]]
  )
  func `codes that end early are undecodable`(codes: [UInt8]) {
    let error = rejection(file(codes))
    #expect(error?.kind == .undecodable)
    expectGolden(error?.message, for: "\(codes)")
  }
}
