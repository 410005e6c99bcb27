import ImageCoding
import Base
import TestSupport
import Testing

@Suite("broken images") struct BrokenImageTests {
  @Test func `a JPEG cut anywhere says how much is missing, at most what it lacks, and only without its end marker it decodes`()
    throws
  {
    for name in ["photo.jpg", "grey.jpg", "progressive.jpg"] {
      let bytes = FixtureImage.named(name).bytes
      let start = try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA })
      for tenth in 1..<10 {
        let kept = start + 20 + (bytes.count - start - 40) * tenth / 10
        let error = imageError { try Standard.prove(Array(bytes[..<kept])) }
        let decoded = imageError { try Standard.decode(Array(bytes[..<kept])) }
        #expect(error?.kind == .undecodable && decoded?.message == error?.message)
        let message = error?.message ?? ""
        if name == "progressive.jpg", tenth > 3 { #expect(message.hasSuffix("lack detail or colour"), "\(tenth): \(message)") }
        guard let percent = message.firstMatch(of: /^the JPEG is cut off: up to (\d+) % of its pixels are missing$/)?.1 else {
          #expect(
            message.firstMatch(of: /^the JPEG is cut off at scan \d+: its pixels lack detail or colour$/) != nil,
            "\(message)"
          )
          continue
        }
        #expect((1...100).contains(Int(percent) ?? 0))
      }
    }
  }

  @Test func `a JPEG that lacks only its end marker decodes with a warning`() throws {
    for name in ["photo.jpg", "progressive.jpg", "grey.jpg", "arithmetic.jpg"] {
      let bytes = Array(FixtureImage.named(name).bytes.dropLast(2))
      expectGolden(try Standard.decode(bytes).warnings.joined(separator: "\n"))
      expectGolden(try Standard.prove(bytes).warnings.joined(separator: "\n"))
    }
  }

  @Test func `a PNG that lacks only its end chunk decodes with a warning`() throws {
    for lost in 1...12 {
      let bytes = Array(FixtureImage.named("rgb.png").bytes.dropLast(lost))
      expectGolden(try Standard.decode(bytes).warnings.joined(separator: "\n"))
      expectGolden(try Standard.prove(bytes).warnings.joined(separator: "\n"))
    }
    let bytes = Array(FixtureImage.named("rgb.png").bytes.dropLast(13))
    #expect(imageError { try Standard.prove(bytes) }?.kind == .undecodable)
  }

  @Test func `a wrong PNG checksum is an error in a critical chunk up to the end of the image data, and else a warning`() throws {
    let bytes = FixtureImage.named("transparent-key.png").bytes
    func damaged(_ name: String) throws -> [UInt8] {
      var damaged = bytes
      let start = try #require(bytes.indices.dropLast(4).first { bytes[$0...].starts(with: name.utf8) })
      let length = Int(bytes[start - 2]) << 8 | Int(bytes[start - 1])
      damaged[start + 4 + length] ^= 1
      return damaged
    }
    for name in ["IHDR", "IDAT"] {
      let error = imageError { try Standard.prove(damaged(name)) }
      #expect(error?.kind == .undecodable && error?.message.contains("CRC") == true, "\(name)")
    }
    for name in ["tRNS", "IEND"] { expectGolden(try Standard.prove(damaged(name)).warnings.joined(separator: "\n")) }
    #expect(try !Standard.header(damaged("tRNS")).hasAlpha)
  }

  @Test(
    arguments: ["tEXt", "iCCP", "gAMA", "eXIf", "pHYs", "abCd", "acTL", "fcTL", "fdAT", "vpAg"]
  )
  func `an ancillary PNG chunk with a wrong checksum is ignored, whatever its name`(name: String) throws {
    var chunk = PNGBuilder.chunk(name, Array(repeating: 1, count: 26))
    chunk[chunk.count - 1] ^= 1
    let file = PNGBuilder(width: 3, height: 2, before: chunk).file(grey: 7)
    #expect(try Standard.header(file) == Standard.header(PNGBuilder(width: 3, height: 2).file()))
    #expect(try Standard.header(file, prefix: 33 + chunk.count + 8).dpi == nil)
    let image = try Standard.decode(file)
    #expect(image.warnings == ["libpng: \(name): CRC error"] && image.pixels.bytes.prefix(4) == [7, 7, 7, 255])
    #expect(try Standard.prove(file).warnings == image.warnings)
    let decoder = try #require(PNGCoder().progressiveDecoder(for: .png, limits: DecodingLimits()))
    try file.withUnsafeBytes { try decoder.append($0) }
    #expect(try decoder.image()?.pixels == image.pixels)
  }

  @Test(
    arguments: [
      ("PLTE", true), ("ABCD", false), ("ABCD", true), ("IHDR", false), ("CgBI", false),
    ]
  )
  func `a damaged or unknown critical PNG chunk is an error by the header alone`(name: String, isDamaged: Bool) {
    var chunk = PNGBuilder.chunk(name, [1, 2, 3])
    if isDamaged { chunk[chunk.count - 1] ^= 1 }
    let file = PNGBuilder(width: 3, height: 2, before: chunk).file()
    let errors = [
      imageError { try Standard.header(file) }, imageError { try Standard.header(file, prefix: file.count - 13) },
      imageError { try Standard.decode(file) }, imageError { try Standard.prove(file) },
    ]
    #expect(errors.allSatisfy { $0?.kind == .undecodable && $0 == errors[0] })
    expectGolden(errors[0]?.message)
  }

  @Test(
    arguments: [
      (0xC3, 8, "the JPEG is lossless (SOF3), so browsers don't show it"),
      (0xC3, 16, "the JPEG is lossless (SOF3), so browsers don't show it"),
      (0xC5, 8, "the JPEG is hierarchical (SOF5), so browsers don't show it"),
      (0xC9, 8, "the JPEG is arithmetic-coded (SOF9), so browsers don't show it"),
      (0xCB, 8, "the JPEG is lossless (SOF11), so browsers don't show it"),
      (0xCE, 8, "the JPEG is hierarchical (SOF14), so browsers don't show it"),
      (0xC0, 12, "the JPEG has 12 bits per sample, so browsers don't show it"),
      (0xC1, 12, "the JPEG has 12 bits per sample, so browsers don't show it"),
      (0xC2, 12, "the JPEG has 12 bits per sample, so browsers don't show it"),
      (0xC1, 8, nil), (0xC0, 8, nil),
    ] as [(UInt8, UInt8, String?)]
  )
  func `a JPEG of a process that browsers don't decode has a warning, or is an error if libjpeg doesn't decode it either`(
    marker: UInt8,
    precision: UInt8,
    warning: String?
  ) throws {
    var file = FlatJPEG(width: 16, height: 8, isColor: false).bytes
    let frame = try #require(file.indices.first { file[$0...].starts(with: [0xFF, 0xC0]) })
    (file[frame + 1], file[frame + 4]) = (marker, precision)
    let warnings = warning.map { [$0] } ?? []
    #expect(try Standard.header(file).warnings == warnings)
    #expect(try Standard.header(file, prefix: file.count - 3).warnings == warnings)
    for read in [{ try Standard.prove(file).warnings }, { try Standard.decode(file).warnings }] {
      do {
        #expect(try read().first == warning && (warning == nil || marker == 0xC9))
      } catch {
        #expect((error as? ImageError)?.message.hasSuffix("; \(warning ?? "-")") == true)
      }
    }
  }

  @Test func `an error after the image data is a warning`() throws {
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

  @Test func `wrong codes in a JPEG are a warning unless rows are missing`() throws {
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

  @Test func `a complete file shorter than its container size is truncated by its header`() {
    for name in ["cut.png", "cut.webp"] {
      let bytes = Fixtures.bytes("images/broken/\(name)")
      #expect(imageError { try Standard.header(bytes) }?.kind == .undecodable)
      #expect(throws: Never.self) { try Standard.header(bytes, prefix: bytes.count) }
    }
  }

  @Test func `a PNG that ends before its image data is rejected by its header`() {
    // Signature and IHDR, then IEND and more.
    let bytes = SampleImages.basePNG[..<33] + [0, 0, 0, 0] + Array("IEND".utf8) + [UInt8](repeating: 0, count: 64)
    for isComplete in [true, false] {
      #expect {
        try Array(bytes).withRawBytes { bytes throws(ImageError) in try PNGCoder().header(of: bytes, isComplete: isComplete) }
      } throws: { error in (error as? ImageError)?.kind == .undecodable }
    }
  }

  @Test func `a JPEG with too many scans is rejected`() throws {
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

  @Test func `a JPEG with two sizes is rejected`() throws {
    // libjpeg would read another header than the one that was checked against the limits.
    let bytes = FixtureImage.named("photo-small.jpg").bytes
    let frame = try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xC0 })
    var second = Array(bytes[frame..<frame + 19])
    second[5] = 0x7F
    #expect(imageError { try Standard.decode(bytes[..<frame] + second + bytes[frame...]) }?.kind == .undecodable)
  }
}
