import ImageCoding
import Base
import TestSupport
import Testing

@Suite("progressive decoding of JPEG and PNG") struct StillProgressiveTests {
  /// The images after each piece of `count` bytes.
  private func images(_ bytes: [UInt8], by count: Int, limits: DecodingLimits = DecodingLimits()) throws -> [DecodedImage] {
    let format = try #require(ImageFormat(of: bytes))
    let decoder = try #require(ImageCoderRegistry.standard.progressiveDecoder(for: format, limits: limits))
    var images: [DecodedImage] = []
    for start in stride(from: 0, to: bytes.count, by: count) {
      try bytes[start..<min(start + count, bytes.count)].withUnsafeBytes { try decoder.append($0) }
      if let image = try decoder.image() { images.append(image) }
    }
    #expect(try decoder.image() == nil)
    return images
  }

  private static let files = FixtureImage.all.filter { $0.name.hasSuffix(".jpg") || $0.name.hasSuffix(".png") }

  @Test(
    arguments: files.filter { $0.name != "arithmetic.jpg" }
  )
  func `the last partial image equals the whole one, however the bytes arrive`(_ image: FixtureImage) throws {
    var whole = try Standard.decode(image.bytes)
    whole.animation = nil
    for count in [1 << 20, image.bytes.count / 7 + 1, 61] {
      let last = try #require(try images(image.bytes, by: count).last)
      #expect(last.pixels == whole.pixels, "by \(count)")
      #expect(last.header.orientation == whole.header.orientation && last.header.size == whole.header.size)
    }
  }

  @Test(arguments: [1 << 20, 1000, 61])
  func `an arithmetic-coded JPEG produces neither a partial image nor an error`(count: Int) throws {
    let bytes = FixtureImage.named("arithmetic.jpg").bytes
    #expect(try images(bytes, by: count).isEmpty)
    let frame = try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xC9 })
    var progressive = bytes
    progressive[frame + 1] = 0xCA
    #expect(try images(progressive, by: count).isEmpty)
    #expect(
      imageError { try images(bytes, by: count, limits: DecodingLimits(maximumPixels: 1000)) }?.kind
        == .dimensions(maximumPixels: 1000)
    )
  }

  @Test(
    arguments: ["progressive.jpg", "photo.jpg", "interlaced.png", "rgb.png"]
  )
  func `each partial image is closer to the whole one`(name: String) throws {
    let image = FixtureImage.named(name)
    let whole = try Standard.decode(image.bytes).pixels
    let images = try images(image.bytes, by: max(100, image.bytes.count / 25))
    #expect(images.count >= 6)
    var last = Int.max
    for image in images {
      // Comparing some bytes of every row is enough.
      let difference = stride(from: 0, to: whole.bytes.count, by: 37)
        .reduce(0) { $0 + abs(Int(image.pixels.bytes[$1]) - Int(whole.bytes[$1])) }
      #expect(difference < last)
      last = difference
    }
    #expect(last == 0)
  }

  @Test(arguments: ["photo.jpg", "rgb.png"]) func `missing parts are transparent`(name: String) throws {
    let image = FixtureImage.named(name)
    let half = try #require(try images(Array(image.bytes.prefix(image.bytes.count / 2)), by: 1000).last)
    let whole = try Standard.decode(image.bytes).pixels
    let row = image.size.width * 4
    #expect(half.pixels.size == image.size)
    #expect(half.pixels.bytes.prefix(row * 20) == whole.bytes.prefix(row * 20))
    #expect(half.pixels.bytes.suffix(row * 20).allSatisfy { $0 == 0 })
  }

  @Test func `a progressive JPEG is shown after its first scan`() throws {
    let image = FixtureImage.named("progressive.jpg")
    let scans = image.bytes.indices.dropLast().filter { image.bytes[$0] == 0xFF && image.bytes[$0 + 1] == 0xDA }
    let first = try #require(try images(Array(image.bytes[..<(scans[1] + 20)]), by: 500).last)
    #expect(first.pixels.bytes.indices.filter { $0 % 4 == 3 }.allSatisfy { first.pixels.bytes[$0] == 255 })
    #expect(first.pixels != (try Standard.decode(image.bytes).pixels))
  }

  @Test func `a partial image is returned only if there is something new`() throws {
    let bytes = FixtureImage.named("photo.jpg").bytes
    let images = try images(bytes, by: 10)
    #expect(images.count < 60)
    #expect(images.allSatisfy { $0.warnings.isEmpty })
  }

  @Test func `an orientation after a PNG's image data rotates it at the end`() throws {
    let exif = PNGBuilder.chunk("eXIf", Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0])
    let images = try images(PNGBuilder(width: 30, height: 20).file(behind: exif), by: 16)
    #expect(images.first?.pixels.size == ImageSize(width: 30, height: 20))
    #expect(images.last?.pixels.size == ImageSize(width: 20, height: 30))
  }

  @Test(arguments: [1000, 90, 7, 5])
  func `a file with little besides its header produces its image`(count: Int) throws {
    var png = PNGBuilder(width: 3, height: 2)
    png.before = PNGBuilder.chunk("tEXt", Array("Comment\0".utf8) + [UInt8](repeating: 0x20, count: 900))
    for file in [png.file(grey: 90), FlatJPEG(width: 8, height: 8, isColor: false).bytes] {
      #expect(try images(file, by: count).last?.pixels == Standard.decode(file).pixels)
    }
  }

  @Test(arguments: ["photo.jpg", "progressive.jpg"])
  func `a JPEG without its end marker gives all rows before its last bytes`(name: String) throws {
    let image = FixtureImage.named(name)
    let whole = try Standard.decode(image.bytes).pixels
    let last = try #require(try images(image.bytes.dropLast(2), by: 1000).last)
    let rows = image.size.width * 4 * (image.size.height - 32)
    if name == "photo.jpg" { #expect(last.pixels.bytes.prefix(rows) == whole.bytes.prefix(rows)) }
    #expect(last.pixels != whole)
    // More bytes may follow, and do here.
    #expect(try images(image.bytes, by: image.bytes.count - 2).last?.pixels == whole)
  }

  @Test(arguments: [1 << 20, 7, 1])
  func `an error after a PNG's image data isn't an error here either`(count: Int) throws {
    let builder = PNGBuilder(width: 30, height: 20)
    let data = PNGBuilder.chunk("IDAT", [1, 2, 3])
    let garbage = [
      [0xB4, 0xF4, 0xA9, 0xCA] + Array("\u{10}B\u{7F}!no chunk".utf8),  // a length beyond 31 bits
      PNGBuilder.number(5) + Array("\0\0\0\0".utf8),  // no name
      data.dropLast() + [data[data.count - 1] ^ 1],  // extra data with a wrong checksum
    ]
    for garbage in garbage {
      let file = builder.file(grey: 90, behind: garbage)
      let whole = try Standard.decode(file)
      #expect(!whole.warnings.isEmpty, "\(garbage)")
      #expect(try images(file, by: count).last?.pixels == whole.pixels, "\(garbage)")
    }
  }

  @Test(arguments: [1 << 20, 7, 1])
  func `a wrong checksum of the last image data chunk is an error`(count: Int) {
    let builder = PNGBuilder(width: 30, height: 20)
    var file = builder.file()
    file[file.count - PNGBuilder.end.count - 1] ^= 1
    expectGolden(imageError { try images(file, by: count) }?.message)
  }

  @Test func `limits apply to arriving bytes`() throws {
    let jpeg = FlatJPEG(width: 2000, height: 1000, isProgressive: true).bytes
    #expect(
      imageError { try images(jpeg, by: 100, limits: DecodingLimits(maximumPixels: 1_999_999)) }?.kind
        == .dimensions(maximumPixels: 1_999_999)
    )
    #expect(
      imageError { try images(jpeg, by: 100, limits: DecodingLimits(maximumBytes: 8 << 20)) }?.kind
        == .memory(maximumBytes: 8 << 20)
    )
    expectGolden(imageError { try images(jpeg, by: 100, limits: DecodingLimits(maximumScans: 2)) }?.message)
    let huge = Fixtures.bytes("images/broken/huge.png")
    #expect(imageError { try images(huge, by: 10) }?.kind == .dimensions(maximumPixels: 100_000_000))
    let png = PNGBuilder(width: 200, height: 200).file()
    #expect(
      imageError { try images(png, by: 1000, limits: DecodingLimits(maximumBytes: 200_000)) }?.kind
        == .memory(maximumBytes: 200_000)
    )
    expectGolden(imageError { try images(png, by: 1000, limits: DecodingLimits(maximumTime: .zero)) }?.message)
  }

  @Test func `broken data is rejected as it arrives, and no decoder waits for shared memory`() throws {
    expectGolden(imageError { try images(Fixtures.bytes("images/broken/bad-crc.png"), by: 100) }?.message)
    #expect(imageError { try images(Fixtures.bytes("images/broken/lying-height.jpg"), by: 100) }?.kind == .undecodable)
    let budget = DecodingBudget(bytes: 1)
    let decoder = try #require(JPEGCoder().progressiveDecoder(for: .jpeg, limits: DecodingLimits(budget: budget)))
    try FlatJPEG(width: 64, height: 64).bytes.withUnsafeBytes { try decoder.append($0) }
    #expect(budget.takenBytes == 0)
    #expect(try decoder.image() != nil)
  }

  @Test(
    arguments: ["photo-small.jpg", "progressive.jpg", "interlaced.png", "animated.png"]
  )
  func `truncated or wrong bytes never crash a progressive decoder`(name: String) throws {
    let bytes = FixtureImage.named(name).bytes
    var random = SeededRandom(seed: 5)
    for _ in 0..<60 {
      var damaged = bytes
      damaged[Int.random(in: 8..<bytes.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
      let error = imageError {
        try images(damaged, by: Int.random(in: 200...5000, using: &random), limits: DecodingLimits(maximumPixels: 1_000_000))
      }
      if let error { #expect(!error.message.isEmpty) }
    }
  }
}
