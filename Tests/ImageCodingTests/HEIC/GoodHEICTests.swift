#if RareFormats
import ImageCoding
import Base
import Testing

@Suite("good HEIC images") struct GoodHEICTests {
  @Test(arguments: HEICImageFile.all) func `each good HEIC decodes to Pillow's pixels`(_ image: HEICImageFile) throws {
    let decoded = try HEIC.decode(image.bytes)
    #expect(decoded.pixels.size == image.size)
    #expect(decoded.warnings == [])
    for sample in image.samples {
      let offset = (sample[1] * image.size.width + sample[0]) * 4
      let pixel = decoded.pixels.bytes[offset..<offset + 4].map(Int.init)
      // Transparent pixels may have any colour.
      if sample[5] == 0, pixel[3] == 0 { continue }
      #expect(zip(pixel, sample[2...]).allSatisfy { abs($0 - $1) <= 2 }, "\(pixel) at \(sample)")
    }
  }

  @Test(arguments: HEICImageFile.all) func `verifying returns the same header as parsing`(_ image: HEICImageFile) throws {
    let proof = try HEIC.prove(image.bytes)
    #expect(proof.header == (try HEIC.decode(image.bytes).header))
    #expect(proof.header == (try HEIC.header(image.bytes)))
    #expect(proof.header.displaySize == image.size)
    #expect(proof.warnings == [])
  }

  @Test(arguments: HEICImageFile.all)
  func `a header says how many bytes it needs, and that many suffice`(_ image: HEICImageFile) throws {
    let bytes = image.bytes
    var expected = try HEIC.header(bytes)
    var length = 16
    var looks = 0
    while true {
      do {
        let header = try HEIC.header(bytes, prefix: length)
        // EXIF metadata follow the boxes.
        (expected.hasPosition, expected.dpi) = (header.hasPosition, header.dpi)
        (expected.hasThumbnail, expected.exifBytes) = (header.hasThumbnail, header.exifBytes)
        #expect(header == expected)
        #expect(looks > 0 && looks < 10 && length <= bytes.offset(of: "mdat") + 4, "\(looks) looks")
        return
      } catch let error as ImageError {
        guard case .needsMoreBytes(let minimum) = error.kind else { throw error }
        try #require(minimum > length && minimum <= bytes.count)
        length = minimum
        looks += 1
      }
    }
  }

  @Test func `a header has the file's properties`() throws {
    func header(_ name: String) throws -> ImageHeader { try HEIC.header(HEICImageFile.named(name).bytes) }
    let photo = try header("photo.heic")
    #expect(photo == ImageHeader(format: .heic, size: ImageSize(width: 240, height: 160), colorSpace: .ycbcr))
    #expect(try header("alpha.heic").hasAlpha)
    #expect(try header("grey.heic").colorSpace == .gray)
    #expect(try header("grey.heic").size == ImageSize(width: 121, height: 81))
    #expect(try header("lossless.heic").colorSpace == nil, "only the picture says that it isn't YCbCr")
    #expect(try header("rgb.heic").colorSpace == .rgb)
    #expect(try header("grid.heic").size == ImageSize(width: 250, height: 180))
    #expect(try header("profile.heic").profile == ICCProfile(name: "sRGB built-in"))
    let position = try header("position.heic")
    #expect(position.hasPosition && position.dpi == 300)
    let cropped = try header("cropped.heic")
    #expect(cropped.size == ImageSize(width: 100, height: 61) && cropped.orientation == 8)
  }

  @Test func `the pictures of a collection are counted, but aren't an animation`() throws {
    let bytes = HEICImageFile.named("collection.heic").bytes
    let header = try HEIC.header(bytes)
    #expect(header.frames == 2 && !header.isAnimated)
    #expect(try HEIC.decode(bytes).animation == nil)
    let one = DecodingLimits(maximumFrames: 1)
    #expect(imageError { try HEIC.prove(bytes, limits: one) }?.kind == .undecodable)
    #expect(imageError { try HEIC.decode(bytes, limits: one) }?.kind == .undecodable)
  }

  @Test func `every picture of a collection is verified unless only the first is decoded`() throws {
    var bytes = HEICImageFile.named("collection.heic").bytes
    for index in bytes.count - 40..<bytes.count { bytes[index] = 0xFF }
    let error = imageError { try HEIC.prove(bytes) }
    #expect(error?.kind == .undecodable)
    #expect(imageError { try HEIC.decode(bytes) } == error)
    let first = try HEIC.decode(bytes, options: DecodingOptions(firstFrameOnly: true))
    #expect(first.pixels == (try HEIC.decode(HEICImageFile.named("collection.heic").bytes).pixels))
  }

  /// The displayed positions of the stored top left and top right corners, by quarter turns anti-clockwise and then the mirror's
  /// axis (nil: none).
  @Test(
    arguments: [
      (0, nil, 1, "top left", "top right"), (0, 1, 2, "top right", "top left"), (2, nil, 3, "bottom right", "bottom left"),
      (0, 0, 4, "bottom left", "bottom right"), (1, 0, 5, "top left", "bottom left"), (3, nil, 6, "top right", "bottom right"),
      (1, 1, 7, "bottom right", "top right"), (1, nil, 8, "bottom left", "top left"), (2, 0, 2, "top right", "top left"),
      (2, 1, 4, "bottom left", "bottom right"), (3, 0, 7, "bottom right", "top right"), (3, 1, 5, "top left", "bottom left"),
    ] as [(UInt8, UInt8?, Int, String, String)]
  )
  func `rotation and mirroring put the corners in the right places`(
    angle: UInt8,
    mode: UInt8?,
    orientation: Int,
    topLeft: String,
    topRight: String
  ) throws {
    func turned(_ angle: UInt8, _ mode: UInt8?) throws -> DecodedImage {
      var bytes = HEICImageFile.named("turned.heic").bytes
      bytes[bytes.offset(of: "irot") + 4] = angle
      let mirror = bytes.offset(of: "imir")
      if let mode { bytes[mirror + 4] = mode } else { bytes[mirror] = UInt8(ascii: "x") }
      return try HEIC.decode(bytes)
    }
    func pixel(_ image: PixelBuffer, _ corner: String) -> ArraySlice<UInt8> {
      let x = corner.hasSuffix("left") ? 0 : image.size.width - 1
      let y = corner.hasPrefix("top") ? 0 : image.size.height - 1
      return image.bytes[(y * image.size.width + x) * 4..<(y * image.size.width + x) * 4 + 4]
    }
    let stored = try turned(0, nil).pixels
    let shown = try turned(angle, mode)
    #expect(shown.header.orientation == orientation)
    #expect(
      shown.pixels.size == (orientation < 5 ? stored.size : ImageSize(width: stored.size.height, height: stored.size.width))
    )
    #expect(pixel(stored, "top left") != pixel(stored, "top right"))
    #expect(pixel(shown.pixels, topLeft) == pixel(stored, "top left"))
    #expect(pixel(shown.pixels, topRight) == pixel(stored, "top right"))
  }

  @Test(arguments: HEICImageFile.all) func `a thumbnail fits its box`(_ image: HEICImageFile) throws {
    let options = DecodingOptions(thumbnail: ImageSize(width: 30, height: 30))
    let thumbnail = try HEIC.decode(image.bytes, options: options)
    #expect(thumbnail.pixels.size == options.decodedSize(of: image.size))
    #expect(thumbnail.header == (try HEIC.header(image.bytes)))
  }
}
#endif
