import ImageCoding
import Base
import TestSupport
import Testing

@Suite("animated PNG") struct APNGTests {
  private static let red: [UInt8] = [255, 0, 0, 255]
  private static let green: [UInt8] = [0, 255, 0, 255]
  private static let blue: [UInt8] = [0, 0, 255, 255]
  private static let clear: [UInt8] = [0, 0, 0, 0]

  /// A red canvas of 4 x 2, on which `draw` adds `frames` frames.
  private func animation(_ frames: Int, _ draw: (inout APNGBuilder) -> Void) -> APNGBuilder {
    var builder = APNGBuilder()
    builder.control(frames: frames + 1)
    builder.frame(4, 2)
    builder.still(Self.red)
    draw(&builder)
    return builder
  }

  /// The first row of each frame.
  private func rows(_ file: [UInt8]) throws -> [[[UInt8]]] {
    let animation = try #require(try Standard.decode(file).animation)
    return animation.frames.map { frame in (0..<4).map { Array(frame.pixels.bytes[$0 * 4..<$0 * 4 + 4]) } }
  }

  @Test func `frames equal Pillow's, and the first is the still image`() throws {
    let image = try Standard.decode(FixtureImage.named("animated.png").bytes)
    let animation = try #require(image.animation)
    #expect(animation.frames.map(\.duration) == [.milliseconds(100), .milliseconds(200), .milliseconds(300)])
    #expect(animation.loopCount == 2)
    #expect(animation.frames[0].pixels == image.pixels)
    #expect(Set(animation.frames.map(\.pixels.bytes)).count == 3)
    #expect(image.byteCount == 3 * image.pixels.bytes.count)
  }

  @Test func `a frame is kept, is cleared, or restores the previous contents`() throws {
    let file = animation(3) {
      $0.frame(2, 1, x: 1, disposal: 2)
      $0.data(2, 1, Self.green, by: 5)
      $0.frame(1, 2, disposal: 1)
      $0.data(1, 2, Self.blue)
      $0.frame(1, 1, x: 3)
      $0.data(1, 1, Self.green)
    }.file
    let (red, green, blue, clear) = (Self.red, Self.green, Self.blue, Self.clear)
    #expect(
      try rows(file) == [[red, red, red, red], [red, green, green, red], [blue, red, red, red], [clear, red, red, green]]
    )
  }

  @Test func `the first frame restores to transparent`() throws {
    var builder = APNGBuilder()
    builder.control(frames: 2)
    builder.frame(4, 2, disposal: 2)
    builder.still(Self.red)
    builder.frame(1, 1)
    builder.data(1, 1, Self.blue)
    #expect(try rows(builder.file)[1] == [Self.blue, Self.clear, Self.clear, Self.clear])
  }

  @Test func `a frame replaces the canvas or is blended over it`() throws {
    let half: [UInt8] = [0, 0, 255, 128]
    let file = animation(3) {
      $0.frame(1, 1, blending: 0)
      $0.data(1, 1, half)
      $0.frame(1, 1, x: 1, blending: 1)
      $0.data(1, 1, half)
      $0.frame(2, 1, blending: 1)
      $0.data(2, 1, [0, 255, 0, 51])
    }.file
    let frames = try rows(file)
    #expect(frames[1][0] == half)
    #expect(frames[2][1] == [127, 0, 128, 255])
    // Green at 20 % over blue at 50 %: alpha is 0.2 + 0.8 * 0.502 = 0.602, of which green has 0.332.
    #expect(frames[3][0] == [0, 85, 170, 153])
    #expect(frames[3][1] == [102, 51, 102, 255])
  }

  @Test func `durations are fractions of a second, and short or missing ones count as 0.1 s`() throws {
    let delays: [((UInt16, UInt16), Int)] = [((1, 3), 333), ((5, 0), 50), ((0, 7), 100), ((1, 100), 100), ((11, 1000), 11)]
    let file = animation(delays.count) { builder in
      for (delay, _) in delays {
        builder.frame(1, 1, delay: delay)
        builder.data(1, 1, Self.blue)
      }
    }.file
    let animation = try #require(try Standard.decode(file).animation)
    #expect(animation.frames.dropFirst().map(\.duration) == delays.map { .milliseconds($0.1) })
  }

  @Test func `a still image without a frame control isn't a frame and provides the pixels`() throws {
    var builder = APNGBuilder()
    builder.control(frames: 2)
    builder.still(Self.red)
    for pixel in [Self.green, Self.blue] {
      builder.frame(4, 2)
      builder.data(4, 2, pixel)
    }
    let image = try Standard.decode(builder.file)
    #expect(image.header.frames == 2 && image.header.isAnimated)
    #expect(Array(image.pixels.bytes.prefix(4)) == Self.red)
    #expect(try rows(builder.file).map { $0[0] } == [Self.green, Self.blue])
    #expect(try Standard.prove(builder.file).header == image.header)
  }

  @Test func `the first frame can be decoded alone, and all frames at a smaller size`() throws {
    let bytes = FixtureImage.named("animated.png").bytes
    let first = try Standard.decode(bytes, options: DecodingOptions(firstFrameOnly: true))
    #expect(first.animation == nil && first.header.frames == 3)
    let box = DecodingOptions(thumbnail: ImageSize(width: 24, height: 24))
    let small = try Standard.decode(bytes, options: box)
    #expect(small.pixels.size == ImageSize(width: 24, height: 16))
    #expect(small.animation?.frames.map(\.pixels.size) == Array(repeating: ImageSize(width: 24, height: 16), count: 3))
  }

  @Test func `an invalid animation is decoded as its still image, with a warning`() throws {
    var gap = APNGBuilder()
    gap.control(frames: 2)
    gap.frame(4, 2)
    gap.still(Self.red)
    gap.skipSequenceNumber()
    gap.frame(1, 1)
    gap.data(1, 1, Self.blue)
    var invalidCount = APNGBuilder()
    invalidCount.control(frames: 1 << 31)
    invalidCount.still(Self.red)
    let cases = [
      gap,
      animation(1) { $0.frame(2, 2, x: 3) },
      animation(1) { $0.frame(1, 1, disposal: 3) },
      animation(3) {
        $0.frame(1, 1); $0.data(1, 1, Self.blue)
      },
      animation(0) {
        $0.frame(1, 1); $0.data(1, 1, Self.blue)
      },
      animation(1) { $0.data(1, 1, Self.blue) },
      animation(2) {
        $0.frame(1, 1); $0.frame(1, 1)
      },
      animation(1) { $0.control(frames: 2) },
      invalidCount,
    ]
    for (index, builder) in cases.enumerated() {
      let image = try Standard.decode(builder.file)
      #expect(image.animation == nil && !image.header.isAnimated && image.header.frames == 1, "case \(index)")
      #expect(Array(image.pixels.bytes.prefix(4)) == Self.red)
      #expect(image.warnings.count == 1, "\(image.warnings)")
      expectGolden(image.warnings.first, for: "case \(index)")
      #expect(try Standard.prove(builder.file).warnings == image.warnings)
    }
  }

  @Test func `a damaged or truncated animation is rejected`() throws {
    let sound = animation(2) {
      $0.frame(4, 2)
      $0.data(4, 2, Self.blue)
      $0.frame(4, 2)
      $0.data(4, 2, Self.green)
    }
    func expectRejection(_ bytes: [UInt8], _ sentence: String) {
      let error = rejection(bytes)
      #expect(error?.kind == .undecodable && error?.message.contains(sentence) == true, "\(error?.message ?? "no error")")
    }
    expectRejection(Array(sound.unended.dropLast(20)), "the PNG file is truncated")
    var twoFrames = animation(2) {
      $0.frame(4, 2)
      $0.data(4, 2, Self.blue)
    }
    expectRejection(twoFrames.unended, "the PNG file is truncated: it has 2 of 3 frames and no IEND chunk")
    // Data that doesn't match its frame control.
    twoFrames.frame(4, 2)
    twoFrames.data(4, 1, Self.green)
    expectRejection(twoFrames.file, "libpng: Not enough image data")
  }

  @Test(
    arguments: ["fdAT", "fcTL", "acTL"]
  )
  func `an animation with a wrong checksum is ignored with a warning, as any ancillary chunk`(name: String) throws {
    var bytes = FixtureImage.named("animated.png").bytes
    let last = try #require(bytes.indices.dropLast(4).last { bytes[$0...].starts(with: name.utf8) })
    bytes[last + 6] ^= 1
    let image = try Standard.decode(bytes)
    #expect(image.header.frames == 1 && image.animation == nil)
    #expect(try Standard.prove(bytes).warnings == image.warnings && !image.warnings.isEmpty)
    expectGolden(image.warnings.joined(separator: "\n"))
  }

  @Test func `an acTL chunk without a number of frames declares none`() throws {
    let file = PNGBuilder(width: 3, height: 2, before: PNGBuilder.chunk("acTL", [0])).file()
    #expect(try Standard.prove(file).warnings == [])
  }

  @Test func `more frames than allowed are rejected, whether or not they exist`() throws {
    var lying = APNGBuilder()
    lying.control(frames: 0x7FFF_FFFF)
    lying.frame(4, 2)
    lying.still(Self.red)
    expectGolden(imageError { try Standard.prove(lying.file) }?.message)
    let three = FixtureImage.named("animated.png").bytes
    #expect(imageError { try Standard.decode(three, limits: DecodingLimits(maximumFrames: 2)) }?.kind == .undecodable)
    #expect(throws: Never.self) { try Standard.decode(three, limits: DecodingLimits(maximumFrames: 3)) }
  }

  @Test func `all kept frames count as memory`() throws {
    var builder = APNGBuilder()
    builder.canvas = PNGBuilder(width: 100, height: 100)
    builder.control(frames: 200)
    builder.frame(100, 100)
    builder.still(Self.red)
    for _ in 1..<200 {
      builder.frame(1, 1)
      builder.data(1, 1, Self.blue)
    }
    let limits = DecodingLimits(maximumBytes: 200 * 40_000)
    #expect(imageError { try Standard.decode(builder.file, limits: limits) }?.kind == .memory(maximumBytes: 8_000_000))
    #expect(throws: Never.self) { try Standard.prove(builder.file, limits: limits) }
    let first = DecodingOptions(firstFrameOnly: true)
    #expect(throws: Never.self) { try Standard.decode(builder.file, options: first, limits: limits) }
  }
}
