import ImageCoding
import Base
import TestSupport
import Testing

@Suite("AVIF") struct AVIFTests {
  private let bytes = FixtureImage.named("animated-alpha.avif").bytes

  @Test func `the edit list sets the loop count`() throws {
    func loops(_ change: (inout [UInt8]) -> Void) throws -> Int? {
      var bytes = bytes
      change(&bytes)
      return try Standard.decode(bytes).animation?.loopCount
    }
    let (edits, list, track) = (bytes.offset(of: "edts"), bytes.offset(of: "elst"), bytes.offset(of: "tkhd"))
    try #require(bytes[list + 4] == 1 && bytes[track + 4] == 1, "both boxes have version 1")
    // The track's duration has all bits set: it loops forever.
    #expect(try loops { _ in } == 0)
    #expect(try loops { $0[list + 7] = 0 } == 1)
    #expect(try loops { $0[edits] = UInt8(ascii: "x") } == 0)
    let edit = Array(bytes[list + 12..<list + 20])
    let milliseconds = edit.reduce(0) { $0 << 8 | Int($1) }
    for (duration, count) in [(0, 1), (milliseconds, 1), (milliseconds * 3, 3), (milliseconds * 3 + 1, 4)] {
      #expect(
        try loops {
          let written = withUnsafeBytes(of: UInt64(duration).bigEndian, Array.init)
          $0.replaceSubrange(track + 32..<track + 40, with: written)
        } == count
      )
    }
  }

  @Test func `frames, pixels and bytes are limited`() throws {
    #expect(throws: Never.self) { try Standard.prove(bytes, limits: DecodingLimits(maximumFrames: 2)) }
    #expect(rejection(bytes, DecodingLimits(maximumFrames: 1))?.kind == .undecodable)
  }

  @Test func `the time limit is checked between frames`() {
    expectGolden(rejection(bytes, DecodingLimits(maximumTime: .nanoseconds(1)))?.message)
  }

  @Test func `a header has the file's properties`() throws {
    func header(_ name: String) throws -> ImageHeader { try Standard.header(FixtureImage.named(name).bytes) }
    let size = ImageSize(width: 240, height: 160)
    #expect(try header("photo.avif") == ImageHeader(format: .avif, size: size, colorSpace: .ycbcr))
    #expect(try header("grid.avif").size == ImageSize(width: 256, height: 192))
    #expect(try header("profile.avif").profile == ICCProfile(name: "sRGB built-in"))
    let animated = try header("animated.avif")
    #expect(animated.frames == 3 && animated.isAnimated)
  }

  @Test func `the header of a small file that claims many pixels is rejected`() {
    let huge = Fixtures.bytes("images/avif/broken/huge.avif")
    let error = imageError { try Standard.header(huge) }
    #expect(error?.kind == .dimensions(maximumPixels: 16_384 * 16_384))
    #expect(error?.message.contains("60000x60000") == true, "\(error?.message ?? "no error")")
  }

  @Test func `boxes and tables are limited`() {
    let bytes = FixtureImage.named("photo.avif").bytes
    let start = Array(bytes[..<(bytes.offset(of: "meta") - 4)])
    let crumbs = start + Array(repeating: [UInt8]().boxed("free"), count: 10_001).joined() + bytes[start.count...]
    expectGolden(imageError { try Standard.header(crumbs) }?.message)
    let table = [UInt8](repeating: 0, count: 600_000).boxed("iloc")
    let tables = start + ([0, 0, 0, 0] + table).boxed("meta") + bytes[start.count...]
    expectGolden(imageError { try Standard.header(tables) }?.message)
  }

  @Test func `an image whose size differs from its box is scaled to the box`() throws {
    let image = try Standard.decode(Fixtures.bytes("images/avif/broken/lying-size.avif"))
    #expect(image.pixels.size == ImageSize(width: 60, height: 40))
  }
}
