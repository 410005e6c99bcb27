#if AVIF
import ImageCoding
import Base
import Testing

@Suite("good AVIF images") struct GoodAVIFTests {
  @Test(arguments: AVIFImage.all) func `each good AVIF decodes to Pillow's pixels`(_ image: AVIFImage) throws {
    let decoded = try AVIF.decode(image.bytes)
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

  @Test(arguments: AVIFImage.all) func `verifying returns the same header as parsing`(_ image: AVIFImage) throws {
    let proof = try AVIF.prove(image.bytes)
    #expect(proof.header == (try AVIF.decode(image.bytes).header))
    #expect(proof.header == (try AVIF.header(image.bytes)))
    #expect(proof.header.displaySize == image.size)
    #expect(proof.warnings == [])
  }

  @Test(arguments: AVIFImage.all)
  func `a header says how many bytes it needs, and that many suffice`(_ image: AVIFImage) throws {
    let bytes = image.bytes
    var length = 16
    var looks = 0
    while true {
      do {
        #expect(try AVIF.header(bytes, prefix: length) == AVIF.header(bytes))
        #expect(looks > 0 && looks < 10, "\(looks) looks")
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
    func header(_ name: String) throws -> ImageHeader { try AVIF.header(AVIFImage.named(name).bytes) }
    let photo = try header("photo.avif")
    #expect(photo == ImageHeader(format: .avif, size: ImageSize(width: 240, height: 160), colorSpace: .ycbcr))
    #expect(try header("alpha.avif").hasAlpha)
    #expect(try header("grey.avif").colorSpace == .gray)
    #expect(try header("lossless.avif").colorSpace == .rgb)
    #expect(try header("grid.avif").size == ImageSize(width: 256, height: 192))
    #expect(try header("profile.avif").profile == ICCProfile(name: "sRGB built-in"))
    let animated = try header("animated.avif")
    #expect(animated.frames == 3 && animated.isAnimated)
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
      var bytes = AVIFImage.named("turned.avif").bytes
      bytes[bytes.offset(of: "irot") + 4] = angle
      let mirror = bytes.offset(of: "imir")
      if let mode { bytes[mirror + 4] = mode } else { bytes[mirror] = UInt8(ascii: "x") }
      // A property unknown to libavif must not be essential: the high bit of its association (ISO/IEC 23008-12, section 9.3).
      if mode == nil {
        let association = bytes.offset(of: "ipma")
        for index in association..<association + 32 where bytes[index] & 0x80 != 0 && bytes[index] & 0x7F > 4 {
          bytes[index] &= 0x7F
        }
      }
      return try AVIF.decode(bytes)
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

  @Test(arguments: AVIFImage.all) func `a thumbnail fits its box`(_ image: AVIFImage) throws {
    let options = DecodingOptions(thumbnail: ImageSize(width: 30, height: 30))
    let thumbnail = try AVIF.decode(image.bytes, options: options)
    #expect(thumbnail.pixels.size == options.decodedSize(of: image.size))
    #expect(thumbnail.header == (try AVIF.header(image.bytes)))
    for frame in thumbnail.animation?.frames ?? [] { #expect(frame.pixels.size == thumbnail.pixels.size) }
  }
}
#endif
