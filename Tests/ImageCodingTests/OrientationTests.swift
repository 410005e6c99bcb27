import ImageCoding
import Base
import TestSupport
import Testing

@Suite("orientations") struct OrientationTests {
  /// The displayed positions of the stored top left and top right corners, by the EXIF specification's table of orientations.
  private static let corners = [
    ("top left", "top right"), ("top right", "top left"), ("bottom right", "bottom left"), ("bottom left", "bottom right"),
    ("top left", "bottom left"), ("top right", "bottom right"), ("bottom right", "top right"), ("bottom left", "top left"),
  ]

  private func check(_ stored: PixelBuffer, _ shown: DecodedImage, _ orientation: Int) {
    let (left, right) = Self.corners[orientation - 1]
    let turned = ImageSize(width: stored.size.height, height: stored.size.width)
    #expect(shown.header.orientation == orientation)
    #expect(shown.pixels.size == (orientation < 5 ? stored.size : turned))
    #expect(stored.pixel("top left") != stored.pixel("top right"))
    #expect(shown.pixels.pixel(left) == stored.pixel("top left"))
    #expect(shown.pixels.pixel(right) == stored.pixel("top right"))
  }

  @Test(arguments: ["rotated.jpg", "rotated.webp"]) func `the orientation is applied once`(name: String) throws {
    let decoded = try Standard.decode(FixtureImage.named(name).bytes)
    let length = name.hasSuffix(".jpg") ? 80 : 40
    #expect(decoded.header.orientation == 6)
    #expect(decoded.header.size == ImageSize(width: length * 3, height: length * 2))
    #expect(decoded.pixels.size == ImageSize(width: length * 2, height: length * 3))
  }

  @Test(arguments: 1...8) func `every EXIF orientation puts the corners in the right places`(orientation: Int) throws {
    var bytes = FixtureImage.named("rotated.jpg").bytes
    let tag = try #require(bytes.indices.dropLast(9).first { bytes[$0...].starts(with: [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0]) })
    bytes[tag + 9] = 1
    let stored = try Standard.decode(bytes).pixels
    bytes[tag + 9] = UInt8(orientation)
    check(stored, try Standard.decode(bytes), orientation)
  }

  @Test(arguments: 1...8) func `every orientation of a JPEG XL puts the corners in the right places`(orientation: Int) throws {
    func turned(_ orientation: Int) throws -> DecodedImage {
      var bytes = FixtureImage.named("turned.jxl").bytes
      // 120 x 80 pixels have a short size with a ratio: 1 + 5 + 3 bits; then come default, extra fields and the orientation.
      let start = bytes.offset(of: "jxlc") + 4 + 2
      var head = (0..<3).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
      try #require(head >> 11 & 7 == 5 && head & 1 == 1)
      head = head & ~(7 << 11) | (orientation - 1) << 11
      for index in 0..<3 { bytes[start + index] = UInt8(truncatingIfNeeded: head >> (8 * index)) }
      return try Standard.decode(bytes)
    }
    check(try turned(1).pixels, try turned(orientation), orientation)
  }

  /// By quarter turns anti-clockwise and then the mirror's axis (nil: none).
  @Test(
    arguments: ["turned.avif", "turned.heic"],
    [
      (0, nil, 1), (0, 1, 2), (2, nil, 3), (0, 0, 4), (1, 0, 5), (3, nil, 6), (1, 1, 7), (1, nil, 8), (2, 0, 2), (2, 1, 4),
      (3, 0, 7), (3, 1, 5),
    ] as [(UInt8, UInt8?, Int)]
  )
  func `rotation and mirroring put the corners in the right places`(name: String, turn: (UInt8, UInt8?, Int)) throws {
    guard let file = FixtureImage.ofEveryFormat.first(where: { $0.name == name })?.bytes else { return }
    func turned(_ angle: UInt8, _ mode: UInt8?) throws -> DecodedImage {
      var bytes = file
      bytes[bytes.offset(of: "irot") + 4] = angle
      let mirror = bytes.offset(of: "imir")
      if let mode { bytes[mirror + 4] = mode } else { bytes[mirror] = UInt8(ascii: "x") }
      // A property unknown to libavif must not be essential: the high bit of its association (ISO/IEC 23008-12, section 9.3).
      if mode == nil, name.hasSuffix(".avif") {
        let association = bytes.offset(of: "ipma")
        for index in association..<association + 32 where bytes[index] & 0x80 != 0 && bytes[index] & 0x7F > 4 {
          bytes[index] &= 0x7F
        }
      }
      return try Standard.decode(bytes)
    }
    check(try turned(0, nil).pixels, try turned(turn.0, turn.1), turn.2)
  }
}
