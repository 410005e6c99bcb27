import ImageCoding
import Base
import Testing

@Suite("good images") struct GoodImageTests {
  @Test(arguments: FixtureImage.all) func `each good image decodes to Pillow's pixels`(_ image: FixtureImage) throws {
    let decoded = try Standard.decode(image.bytes)
    #expect(decoded.pixels.size == image.size)
    #expect(decoded.warnings == image.warnings)
    for sample in image.samples {
      let offset = (sample[1] * image.size.width + sample[0]) * 4
      let pixel = decoded.pixels.bytes[offset..<offset + 4].map(Int.init)
      // Transparent pixels may have any colour.
      if sample[5] == 0, pixel[3] == 0 { continue }
      #expect(zip(pixel, sample[2...]).allSatisfy { abs($0 - $1) <= 2 }, "\(pixel) at \(sample)")
    }
  }

  @Test(arguments: FixtureImage.all) func `verifying returns the same header as parsing`(_ image: FixtureImage) throws {
    let proof = try Standard.prove(image.bytes)
    #expect(proof.header == (try Standard.decode(image.bytes).header))
    #expect(proof.header.displaySize == image.size)
    #expect(proof.warnings == image.warnings && proof.header.warnings == image.warnings)
  }

  @Test(arguments: FixtureImage.all)
  func `a header says how many bytes it needs, and that many suffice`(_ image: FixtureImage) throws {
    let bytes = image.bytes
    let whole = try Standard.header(bytes)
    var length = 0
    while true {
      do {
        let header = try Standard.header(bytes, prefix: length)
        #expect(header.size == whole.size)
        // In a WebP, the orientation follows the picture.
        #expect(header.orientation == whole.orientation || image.name.hasSuffix(".webp"))
        #expect(header.hasAlpha == whole.hasAlpha)
        return
      } catch let error as ImageError {
        guard case .needsMoreBytes(let minimum) = error.kind else {
          // Too short to detect the format.
          #expect(error.kind == .notAnImage && length < 12)
          length += 1
          continue
        }
        try #require(minimum > length && minimum <= bytes.count)
        length = minimum
      }
    }
  }

  @Test func `the orientation is applied once`() throws {
    let image = FixtureImage.named("rotated.jpg")
    let decoded = try Standard.decode(image.bytes)
    #expect(decoded.header.orientation == 6)
    #expect(decoded.header.size == ImageSize(width: 240, height: 160))
    #expect(decoded.pixels.size == ImageSize(width: 160, height: 240))
  }

  /// The displayed positions of the stored top left and top right corners, by the EXIF specification's table of orientations.
  @Test(
    arguments: [
      (1, "top left", "top right"), (2, "top right", "top left"), (3, "bottom right", "bottom left"),
      (4, "bottom left", "bottom right"),
      (5, "top left", "bottom left"), (6, "top right", "bottom right"), (7, "bottom right", "top right"),
      (8, "bottom left", "top left"),
    ]
  )
  func `every orientation puts the corners in the right places`(orientation: UInt8, topLeft: String, topRight: String) throws {
    var bytes = FixtureImage.named("rotated.jpg").bytes
    let tag = try #require(bytes.indices.dropLast(9).first { bytes[$0...].starts(with: [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0]) })
    bytes[tag + 9] = 1
    let stored = try Standard.decode(bytes).pixels
    bytes[tag + 9] = orientation
    let shown = try Standard.decode(bytes).pixels
    func pixel(_ image: PixelBuffer, _ corner: String) -> ArraySlice<UInt8> {
      let x = corner.hasSuffix("left") ? 0 : image.size.width - 1
      let y = corner.hasPrefix("top") ? 0 : image.size.height - 1
      return image.bytes[(y * image.size.width + x) * 4..<(y * image.size.width + x) * 4 + 4]
    }
    #expect(shown.size == (orientation < 5 ? stored.size : ImageSize(width: stored.size.height, height: stored.size.width)))
    #expect(pixel(stored, "top left") != pixel(stored, "top right"))
    #expect(pixel(shown, topLeft) == pixel(stored, "top left"))
    #expect(pixel(shown, topRight) == pixel(stored, "top right"))
  }

  @Test(
    arguments: [
      ("rgba.png", true), ("rgb.png", false), ("palette-alpha.png", true), ("palette.png", false), ("transparent-key.png", true),
      ("alpha.webp", true), ("lossy.webp", false), ("photo.jpg", false),
    ]
  )
  func `the header reports alpha`(name: String, hasAlpha: Bool) throws {
    #expect(try Standard.header(FixtureImage.named(name).bytes).hasAlpha == hasAlpha)
  }

  @Test func `the header of a complete animation counts its frames`() throws {
    #expect(try Standard.header(FixtureImage.named("animated.webp").bytes).frames == 2)
    #expect(try Standard.header(FixtureImage.named("lossy.webp").bytes).frames == 1)
  }
}
