import ImageCoding
import Base
import TestSupport
import Testing

@Suite("headers of JPEG and PNG") struct StillHeaderTests {
  @Test(
    arguments: [
      (.ycbcr, false, "photo.jpg lossy.webp photo.avif photo.heic chroma.tif"),
      (.gray, false, "grey.jpg grey.png bilevel.png grey.avif grey.heic grey.jxl group4.tif"),
      (.cmyk, false, "cmyk.jpg cmyk-unmarked.jpg cmyk.tif"), (.ycck, false, "ycck.jpg"),
      (.rgb, false, "rgb.png lossless.avif rgb.heic photo.jxl strips.tif photo.bmp unused-alpha.bmp"),
      (.indexed, false, "palette.png palette.tif palette.bmp"), (.indexed, true, "palette-alpha.png"),
      (.rgb, true, "rgba.png transparent-key.png alpha.jxl straight.tif premultiplied.tif planes.tif alpha.bmp"),
      (.ycbcr, true, "alpha.webp alpha.avif alpha.heic"), (.gray, true, "grey-alpha.tif"),
    ] as [(ImageHeader.ColorSpace, Bool, String)]
  )
  func `the header has the file's colour space and alpha`(space: ImageHeader.ColorSpace, hasAlpha: Bool, names: String) throws {
    for name in names.split(separator: " ") {
      guard let image = FixtureImage.ofEveryFormat.first(where: { $0.name == name }) else { continue }
      let header = try Standard.header(image.bytes)
      #expect(header.colorSpace == space && header.hasAlpha == hasAlpha, "\(name): \(header)")
    }
  }

  @Test func `a JPEG's first profile segment names its profile`() throws {
    #expect(try Standard.header(FixtureImage.named("profile.jpg").bytes).profile == ICCProfile(name: "sRGB built-in"))
    #expect(try Standard.header(FixtureImage.named("photo.jpg").bytes).profile == nil)
  }

  @Test func `a PNG's iCCP chunk names its profile`() throws {
    var png = PNGBuilder(width: 2, height: 2)
    png.before = PNGBuilder.chunk("iCCP", Array("Display P3\0\0".utf8) + PNGBuilder.stored([1, 2, 3]))
    #expect(try Standard.header(png.file()).profile == ICCProfile(name: "Display P3"))
    #expect(try Standard.header(png.file(), prefix: png.file().count - 20).profile == ICCProfile(name: "Display P3"))
  }

  @Test func `a PNG's orientation may follow the image data; then only the whole file has it`() throws {
    let exif = PNGBuilder.chunk("eXIf", Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0])
    var before = PNGBuilder(width: 3, height: 2)
    before.before = exif
    let behind = PNGBuilder(width: 3, height: 2).file(behind: exif)
    #expect(try Standard.header(before.file()).orientation == 6)
    #expect(try Standard.header(before.file(), prefix: before.file().count - 30).orientation == 6)
    #expect(try Standard.header(behind).orientation == 6)
    #expect(try Standard.header(behind, prefix: behind.count - 50).orientation == 1)
    #expect(try Standard.decode(behind).pixels.size == ImageSize(width: 2, height: 3))
  }

  @Test func `a prefix shows that a PNG is animated, and the whole file its frame count`() throws {
    let bytes = FixtureImage.named("animated.png").bytes
    let whole = try Standard.header(bytes)
    #expect(whole.isAnimated && whole.frames == 3)
    let prefix = try Standard.header(bytes, prefix: 200)
    #expect(prefix.isAnimated && prefix.frames == 1)
    #expect(try !Standard.header(FixtureImage.named("rgb.png").bytes).isAnimated)
  }

  @Test func `an orientation after the frame header counts`() throws {
    let bytes = FlatJPEG(width: 16, height: 8).bytes
    let exif = FlatJPEG.segment(0xE1, Array("Exif\0\0MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 8, 0, 0])
    let scan = try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA })
    #expect(try Standard.header(Array(bytes[..<scan]) + exif + bytes[scan...]).orientation == 8)
  }

  @Test func `a JPEG without a scan is rejected by its header`() throws {
    let bytes = FlatJPEG(width: 16, height: 8).bytes
    let scan = try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA })
    let error = imageError { try Standard.header(Array(bytes[..<scan]) + [0xFF, 0xD9]) }
    expectGolden(error?.message)
  }
}

@Suite("profile names") struct ICCProfileNameTests {
  private func profile(_ tag: [UInt8], offset: Int = 144) -> [UInt8] {
    let table = PNGBuilder.number(1) + Array("desc".utf8) + PNGBuilder.number(offset) + PNGBuilder.number(tag.count)
    return [UInt8](repeating: 0, count: 128) + table + tag
  }

  private func name(_ bytes: [UInt8]) -> String? { bytes.withUnsafeBytes { ICCProfile(data: $0).name } }

  @Test func `profile names are ASCII in version 2 and UTF-16 in version 4`() {
    let plain = Array("desc\0\0\0\0".utf8) + PNGBuilder.number(10) + Array("Adobe RGB\0rest".utf8)
    #expect(name(profile(plain)) == "Adobe RGB")
    let localized =
      Array("mluc\0\0\0\0".utf8) + PNGBuilder.number(1) + PNGBuilder.number(12) + Array("enUS".utf8) + PNGBuilder.number(4)
      + PNGBuilder.number(28) + [0, 0x50, 0x22, 0x08]
    #expect(name(profile(localized)) == "P∈")
  }

  @Test func `a profile that is truncated, empty or has wrong lengths has no name`() {
    let plain = Array("desc\0\0\0\0".utf8) + PNGBuilder.number(10) + Array("Adobe RGB\0".utf8)
    #expect(name([]) == nil)
    #expect(name(profile(plain, offset: 0x7FFF_FFFF)) == nil)
    #expect(name(profile(Array("desc\0\0\0\0".utf8) + PNGBuilder.number(-1))) == nil)
    #expect(name(profile(Array("desc\0\0\0\0".utf8) + PNGBuilder.number(0))) == nil)
    for count in 0..<profile(plain).count { _ = name(Array(profile(plain).prefix(count))) }
  }
}
