import ImageCoding
import Base
import TestSupport
import Testing

@Suite("good BMP images and icons") struct GoodBitmapTests {
  @Test(arguments: BitmapImage.all) func `each good file decodes to Pillow's pixels`(_ image: BitmapImage) throws {
    let decoded = try Standard.decode(image.bytes)
    #expect(decoded.pixels.size == image.size)
    #expect(decoded.warnings == [])
    #expect(decoded.animation == nil && !decoded.header.isAnimated)
    for sample in image.samples {
      let pixel = decoded.pixels.pixel(sample[0], sample[1]).map(Int.init)
      // Transparent pixels may have any colour.
      if sample[5] == 0, pixel[3] == 0 { continue }
      #expect(zip(pixel, sample[2...]).allSatisfy { abs($0 - $1) <= 2 }, "\(pixel) at \(sample)")
    }
  }

  @Test(arguments: BitmapImage.all) func `verifying, decoding and parsing return the same header`(_ image: BitmapImage) throws {
    let proof = try Standard.prove(image.bytes)
    #expect(proof.header == (try Standard.decode(image.bytes).header))
    #expect(proof.header == (try Standard.header(image.bytes)))
    #expect(proof.header.displaySize == image.size)
    #expect(proof.warnings == [])
  }

  @Test(arguments: BitmapImage.all)
  func `a header says how many bytes it needs, and that many suffice`(_ image: BitmapImage) throws {
    let bytes = image.bytes
    let whole = try Standard.header(bytes)
    var length = 4
    var looks = 0
    while true {
      do {
        #expect(try Standard.header(bytes, prefix: length) == whole || whole.profile != nil)
        #expect(looks > 0 && looks < 8, "\(looks) looks")
        return
      } catch let error as ImageError {
        guard case .needsMoreBytes(let minimum) = error.kind else { throw error }
        try #require(minimum > length && minimum <= bytes.count)
        length = minimum
        looks += 1
      }
    }
  }

  @Test(arguments: BitmapImage.all) func `a thumbnail fits its box and resembles the whole`(_ image: BitmapImage) throws {
    let whole = try Standard.decode(image.bytes).pixels
    for box in [ImageSize(width: 13, height: 13), ImageSize(width: 1, height: 200)] {
      let options = DecodingOptions(thumbnail: box)
      let thumbnail = try Standard.decode(image.bytes, options: options)
      #expect(thumbnail.pixels == whole.reduced(to: options.decodedSize(of: image.size)))
      #expect(thumbnail.header == (try Standard.header(image.bytes)))
    }
  }

  @Test func `headers have the properties of the files`() throws {
    func header(_ name: String) throws -> ImageHeader { try Standard.header(BitmapImage.named(name).bytes) }
    let photo = try header("photo.bmp")
    #expect(photo.format == .bmp && photo.colorSpace == .rgb && !photo.hasAlpha && photo.frames == 1)
    #expect(photo.metadata.dpi == 300)
    #expect(try header("palette.bmp").colorSpace == .indexed)
    #expect(try header("os2.bmp").dpi == nil)
    #expect(try header("alpha.bmp").hasAlpha)
    #expect(try !header("unused-alpha.bmp").hasAlpha)
    #expect(try header("profile.bmp").profile == ICCProfile(name: "sRGB built-in"))
    #expect(try Standard.header(BitmapImage.named("profile.bmp").bytes, prefix: 138).profile == ICCProfile(name: nil))
    let mixed = try header("mixed.ico")
    #expect(mixed.format == .ico && mixed.frames == 4 && !mixed.isAnimated && mixed.size == ImageSize(width: 256, height: 256))
    #expect(try header("large.ico").size == ImageSize(width: 512, height: 512))
    #expect(try header("cursor.cur").hasAlpha)
  }
}

@Suite("damaged BMP images and icons") struct DamagedBitmapTests {
  private static let limits = DecodingLimits(maximumPixels: 1_000_000)

  @Test(arguments: BitmapImage.all) func `a truncated file is never good`(_ image: BitmapImage) {
    let bytes = image.bytes
    // A profile may be missing, and the last chunk of a PNG.
    let end = image.name == "profile.bmp" ? 138 + 30 * 124 : bytes.count
    for length in stride(from: 0, to: end - 12, by: 7) {
      let isGood = check(Array(bytes.prefix(length)), "the first \(length) bytes")
      #expect(!isGood, "\(length)")
    }
  }

  @Test(
    arguments: [
      "bmp/broken/cut.bmp", "bmp/broken/cut-runs.bmp", "ico/broken/cut.ico", "ico/broken/cut-mask.ico", "ico/broken/bad-crc.ico",
    ]
  )
  func `a truncated or cut file is undecodable with a message`(name: String) {
    let bytes = Fixtures.bytes("images/\(name)")
    let error = imageError { try Standard.decode(bytes) }
    #expect(error?.kind == .undecodable)
    #expect(imageError { try Standard.prove(bytes) } == error)
    expectGolden(error?.message, for: name)
  }

  @Test(arguments: BitmapImage.all)
  func `no bytes crash a decoder, and decoding and verifying agree`(_ image: BitmapImage) {
    let bytes = image.bytes
    var random = SeededRandom(seed: UInt64(bytes.count))
    for step in 0..<300 {
      var damaged = bytes
      for _ in 0...step % 3 {
        // Two of three offsets are in the headers.
        let offset = Int.random(in: 0..<(step % 3 > 0 ? min(bytes.count, 150) : bytes.count), using: &random)
        damaged[offset] ^= UInt8.random(in: 1...255, using: &random)
      }
      if step % 5 == 0 { damaged.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
      _ = check(damaged, "step \(step)")
    }
  }

  /// Checks that decoding and verifying agree, and returns whether the file is good.
  private func check(_ bytes: [UInt8], _ what: String) -> Bool {
    let decoding = Result { try Standard.decode(bytes, limits: Self.limits) }
    let proof = Result { try Standard.prove(bytes, limits: Self.limits) }
    switch (decoding, proof) {
    case (.success(let image), .success(let proof)):
      #expect(image.header == proof.header, "\(what)")
      #expect(image.warnings == proof.warnings, "\(what)")
      #expect(image.header.size.pixels <= Self.limits.maximumPixels, "\(what)")
      return true
    case (.failure(let left), .failure(let right)):
      #expect(left as? ImageError == right as? ImageError, "\(what)")
      #expect((left as? ImageError)?.message.isEmpty == false, "\(what)")
    case (.success, .failure(let error)):
      Issue.record("\(what): decoded, but not verified: \(error)")
    case (.failure(let error), .success):
      Issue.record("\(what): verified, but not decoded: \(error)")
    }
    return false
  }

  @Test(arguments: BitmapImage.all) func `the pixel limit is exact`(_ image: BitmapImage) throws {
    let pixels = image.size.pixels
    _ = try Standard.prove(image.bytes, limits: DecodingLimits(maximumPixels: pixels))
    let limits = DecodingLimits(maximumPixels: pixels - 1)
    let error = imageError { try Standard.prove(image.bytes, limits: limits) }
    #expect(error?.kind == .dimensions(maximumPixels: pixels - 1))
    #expect(imageError { try Standard.decode(image.bytes, limits: limits) } == error)
  }

  @Test(arguments: ["photo.bmp", "runs.bmp", "mixed.ico", "alpha.ico"])
  func `memory is limited and returned`(name: String) throws {
    let image = BitmapImage.named(name)
    let error = imageError { try Standard.decode(image.bytes, limits: DecodingLimits(maximumBytes: image.size.pixels * 4)) }
    #expect(error?.kind == .memory(maximumBytes: image.size.pixels * 4))
    let budget = DecodingBudget(bytes: 2 << 20)
    let limits = DecodingLimits(budget: budget)
    _ = try Standard.decode(image.bytes, limits: limits)
    _ = imageError { try Standard.decode(Array(image.bytes.dropLast(100)), limits: limits) }
    #expect(budget.takenBytes == 0)
  }

  @Test func `a small file that claims many pixels is rejected`() {
    let huge = Fixtures.bytes("images/bmp/broken/huge.bmp")
    #expect(imageError { try Standard.prove(huge) }?.kind == .dimensions(maximumPixels: 100_000_000))
    #expect(imageError { try Standard.decode(huge) }?.kind == .dimensions(maximumPixels: 100_000_000))
    #expect(imageError { try Standard.header(huge) }?.kind == .undecodable)
    #expect(throws: Never.self) { try Standard.header(huge, prefix: huge.count) }
    for side in [Int(Int32.max), 1] {
      let largest = BMPMaker(width: Int(Int32.max), height: side, bits: 32).file
      #expect(imageError { try Standard.header(largest) }?.kind == .undecodable)
    }
  }
}
