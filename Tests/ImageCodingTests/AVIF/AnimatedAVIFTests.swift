#if AVIF
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("AVIF sequences") struct AnimatedAVIFTests {
  private let bytes = AVIFImage.named("animated-alpha.avif").bytes

  @Test func `all frames are decoded with their durations`() throws {
    let image = try AVIF.decode(AVIFImage.named("animated.avif").bytes)
    let animation = try #require(image.animation)
    #expect(animation.frames.map(\.duration) == [.milliseconds(200), .milliseconds(200), .milliseconds(200)])
    #expect(animation.frames[0].pixels == image.pixels)
    #expect(animation.frames[1].pixels != animation.frames[0].pixels)
    #expect(animation.frames[2].pixels != animation.frames[1].pixels)
  }

  @Test func `a frame shorter than 11 ms is shown for 100 ms`() throws {
    let animation = try #require(try AVIF.decode(bytes).animation)
    #expect(animation.frames.map(\.duration) == [.milliseconds(100), .milliseconds(300)])
  }

  @Test func `the first frame alone isn't animated`() throws {
    let first = try AVIF.decode(bytes, options: DecodingOptions(firstFrameOnly: true))
    #expect(first.animation == nil)
    #expect(first.pixels == (try AVIF.decode(bytes).pixels))
  }

  @Test func `the edit list sets the loop count`() throws {
    func loops(_ change: (inout [UInt8]) -> Void) throws -> Int? {
      var bytes = bytes
      change(&bytes)
      return try AVIF.decode(bytes).animation?.loopCount
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
    #expect(throws: Never.self) { try AVIF.prove(bytes, limits: DecodingLimits(maximumFrames: 2)) }
    #expect(imageError { try AVIF.prove(bytes, limits: DecodingLimits(maximumFrames: 1)) }?.kind == .undecodable)
    #expect(imageError { try AVIF.decode(bytes, limits: DecodingLimits(maximumFrames: 1)) }?.kind == .undecodable)
  }

  @Test func `the time limit is checked between frames`() {
    let limits = DecodingLimits(maximumTime: .nanoseconds(1))
    for error in [imageError { try AVIF.decode(bytes, limits: limits) }, imageError { try AVIF.prove(bytes, limits: limits) }] {
      expectGolden(error?.message)
    }
  }
}
#endif
