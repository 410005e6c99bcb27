import ImageCoding
import ImagePrimitives
import TestSupport
import Testing

@Suite("broken images") struct BrokenImageTests {
  @Test(
    "each broken image is undecodable with a message",
    arguments: [
      ("cut.jpg", "libjpeg: Premature end of JPEG file"),
      ("cut-between-scans.jpg", "libjpeg: Premature end of JPEG file"),
      ("lying-height.jpg", "libjpeg: Corrupt JPEG data: premature end of data segment"),
      ("cut.png", "the PNG file is truncated: "),
      ("bad-crc.png", "libpng: IDAT: CRC error"),
      ("cut.webp", "the WebP file is truncated: "),
    ]
  )
  func isUndecodableWithASentence(name: String, sentence: String) throws {
    let bytes = Fixtures.bytes("images/broken/\(name)")
    for error in [imageError { try Standard.decode(bytes) }, imageError { try Standard.prove(bytes) }] {
      #expect(error?.kind == .undecodable)
      #expect(error?.message.hasPrefix(sentence) == true, "\(error?.message ?? "no error")")
    }
  }

  @Test(
    "a file of another type isn't an image to the coders its name suggests",
    arguments: ["gif-inside.jpg", "page.jpg", "text.png", "empty.jpg"]
  )
  func isNotAnImageToTheCodersThatItsNameSuggests(name: String) {
    Fixtures.bytes("images/broken/\(name)").withUnsafeBytes { bytes in
      for coder in [JPEGCoder(), PNGCoder(), WebPCoder()] as [any ImageCoder] {
        #expect(imageError { try coder.header(of: bytes, isComplete: true) }?.kind == .notAnImage)
        #expect(imageError { try coder.proveDecodable(bytes, limits: DecodingLimits()) }?.kind == .notAnImage)
      }
    }
  }

  @Test("the header of a small file that claims many pixels is rejected")
  func aSmallFileThatClaimsManyPixelsIsRefusedByItsHeader() throws {
    let bytes = Fixtures.bytes("images/broken/huge.png")
    #expect(bytes.count < 1024)
    #expect(try Standard.header(bytes).size == ImageSize(width: 60_000, height: 60_000))
    #expect(imageError { try Standard.decode(bytes) }?.kind == .dimensions(maximumPixels: 100_000_000))
    #expect(imageError { try Standard.prove(bytes) }?.kind == .dimensions(maximumPixels: 100_000_000))
  }

  @Test("the pixel limit is exact", arguments: FixtureImage.all)
  func theLimitOnPixelsIsExact(_ image: FixtureImage) throws {
    let pixels = image.size.pixels
    _ = try Standard.prove(image.bytes, limits: DecodingLimits(maximumPixels: pixels))
    let error = imageError { try Standard.prove(image.bytes, limits: DecodingLimits(maximumPixels: pixels - 1)) }
    #expect(error?.kind == .dimensions(maximumPixels: pixels - 1))
  }

  @Test("a JPEG that lacks only its end marker decodes with a warning") func aJPEGThatLacksOnlyItsEndMarkerIsOdd() throws {
    for name in ["photo.jpg", "progressive.jpg", "grey.jpg", "arithmetic.jpg"] {
      let bytes = Array(FixtureImage.named(name).bytes.dropLast(2))
      expectGolden(try Standard.decode(bytes).warnings.joined(separator: "\n"))
      expectGolden(try Standard.prove(bytes).warnings.joined(separator: "\n"))
    }
  }

  @Test("a PNG that lacks only its end chunk decodes with a warning") func aPNGThatLacksOnlyItsEndChunkIsOdd() throws {
    for lost in 1...12 {
      let bytes = Array(FixtureImage.named("rgb.png").bytes.dropLast(lost))
      expectGolden(try Standard.decode(bytes).warnings.joined(separator: "\n"))
      expectGolden(try Standard.prove(bytes).warnings.joined(separator: "\n"))
    }
    let bytes = Array(FixtureImage.named("rgb.png").bytes.dropLast(13))
    #expect(imageError { try Standard.prove(bytes) }?.kind == .undecodable)
  }

  @Test("a wrong PNG checksum is an error up to the end of the image data") func aWrongSumOfAPNGChunkIsAnErrorUpToThePicturesEnd()
    throws
  {
    let bytes = FixtureImage.named("transparent-key.png").bytes
    func damaged(_ name: String) throws -> [UInt8] {
      var damaged = bytes
      let start = try #require(bytes.indices.dropLast(4).first { bytes[$0...].starts(with: name.utf8) })
      let length = Int(bytes[start - 2]) << 8 | Int(bytes[start - 1])
      damaged[start + 4 + length] ^= 1
      return damaged
    }
    for name in ["IHDR", "tRNS", "IDAT"] {
      let error = imageError { try Standard.prove(damaged(name)) }
      #expect(error?.kind == .undecodable && error?.message.contains("CRC") == true, "\(name)")
    }
    expectGolden(try Standard.prove(damaged("IEND")).warnings.joined(separator: "\n"))
  }

  @Test("an error after the image data is a warning") func whatIsWrongBehindThePictureIsOdd() throws {
    let picture = PNGBuilder(width: 3, height: 2)
    let text = PNGBuilder.chunk("tEXt", Array("Comment\0behind".utf8))
    var wrongSum = text
    wrongSum[wrongSum.count - 1] ^= 1
    #expect(try Standard.decode(picture.file(behind: text)).warnings == [])
    expectGolden(try Standard.decode(picture.file(behind: wrongSum)).warnings.joined(separator: "\n"))
    // A file that ends within a chunk is truncated.
    let cut = Array(picture.file(behind: text).dropLast(12 + 5))
    expectGolden(imageError { try Standard.decode(cut) }?.message)
  }

  @Test("wrong codes in a JPEG are a warning unless rows are missing") func wrongCodesInAJPEGAreOddUnlessRowsAreMissing() throws {
    let bytes = FixtureImage.named("photo.jpg").bytes
    var warned = 0
    for place in stride(from: 2000, to: bytes.count - 200, by: 300) {
      var damaged = bytes
      damaged[place] ^= 0x10
      guard damaged[place] != 0xFF, damaged[place - 1] != 0xFF, bytes[place] != 0xFF, let image = try? Standard.decode(damaged)
      else {
        continue
      }
      warned += image.warnings.isEmpty ? 0 : 1
      #expect(image.warnings.allSatisfy { $0.hasPrefix("libjpeg: Corrupt JPEG data: ") })
    }
    #expect(warned > 10)
  }

  @Test("a complete file shorter than its container size is truncated by its header")
  func aWholeFileShorterThanItsContainerSaysIsCutByItsHeader() {
    for name in ["cut.png", "cut.webp"] {
      let bytes = Fixtures.bytes("images/broken/\(name)")
      #expect(imageError { try Standard.header(bytes) }?.kind == .undecodable)
      #expect(throws: Never.self) { try Standard.header(bytes, prefix: bytes.count) }
    }
  }

  @Test("a PNG that ends before its image data is rejected by its header")
  func aPNGWithoutPictureIsRefusedByItsHeader() {
    // Signature and IHDR, then IEND and more.
    let bytes = SampleImages.basePNG[..<33] + [0, 0, 0, 0] + Array("IEND".utf8) + [UInt8](repeating: 0, count: 64)
    for isComplete in [true, false] {
      #expect {
        try Array(bytes).withRawBytes { bytes throws(ImageError) in try PNGCoder().header(of: bytes, isComplete: isComplete) }
      } throws: { error in (error as? ImageError)?.kind == .undecodable }
    }
  }

  @Test("a JPEG with too many scans is rejected") func aJPEGOfTooManyScansIsRefused() throws {
    let bytes = FixtureImage.named("progressive.jpg").bytes
    let start = try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA })
    let end = try #require(bytes.indices.dropLast().first { $0 > start && bytes[$0] == 0xFF && bytes[$0 + 1] != 0 })
    // The first scan has the same coefficients however often it is repeated.
    let bomb = bytes[..<end] + Array(repeating: bytes[start..<end], count: 600).joined() + bytes[end...]
    expectGolden(imageError { try Standard.prove(Array(bomb)) }?.message)
    // The larger the image within its limit, the fewer scans are allowed.
    let longer = Array(bytes[..<end] + Array(repeating: bytes[start..<end], count: 40).joined() + bytes[end...])
    let tight = DecodingLimits(maximumPixels: 480 * 320)
    expectGolden(imageError { try Standard.prove(longer, limits: tight) }?.message)
    #expect(throws: Never.self) { try Standard.prove(longer) }
    #expect(throws: Never.self) { try Standard.prove(bytes, limits: tight) }
    expectGolden(imageError { try Standard.decode(Array(bomb)) }?.message)
  }

  @Test("a JPEG with two sizes is rejected") func aJPEGOfTwoSizesIsRefused() throws {
    // libjpeg would read another header than the one that was checked against the limits.
    let bytes = FixtureImage.named("photo-small.jpg").bytes
    let frame = try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xC0 })
    var second = Array(bytes[frame..<frame + 19])
    second[5] = 0x7F
    #expect(imageError { try Standard.decode(bytes[..<frame] + second + bytes[frame...]) }?.kind == .undecodable)
  }
}
