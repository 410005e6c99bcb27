import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

/// The frames that Pillow decodes from an animated file of `images/good`.
struct FixtureAnimation: CustomTestStringConvertible, Sendable {
  struct Frame: Decodable, Sendable {
    let milliseconds: Int
    /// Rows of x, y, red, green, blue, alpha.
    let samples: [[Int]]
  }

  let name: String
  /// As in the file; nil if a GIF has no loop count.
  let loops: Int?
  let frames: [Frame]

  var testDescription: String { name }

  static let all: [FixtureAnimation] = {
    struct Reference: Decodable {
      let loops: Int?
      let frames: [Frame]
    }
    let json = Data(Fixtures.bytes("images/animations.json"))
    guard let references = try? JSONDecoder().decode([String: Reference].self, from: json) else { fatalError("animations.json") }
    return references.sorted { $0.key < $1.key }.map { FixtureAnimation(name: $0, loops: $1.loops, frames: $1.frames) }
  }()
}

@Suite("animations") struct AnimationTests {
  @Test(arguments: FixtureAnimation.all)
  func `every frame, duration and loop count equals Pillow's`(_ expected: FixtureAnimation) throws {
    let image = try Standard.decode(FixtureImage.named(expected.name).bytes)
    let animation = try #require(image.animation)
    #expect(animation.loopCount == expected.loops ?? 1)
    #expect(animation.frames.count == expected.frames.count)
    #expect(image.header.frames == expected.frames.count && image.header.isAnimated)
    #expect(image.pixels == animation.frames[0].pixels)
    for (frame, expected) in zip(animation.frames, expected.frames) {
      // Durations below 11 ms count as 100.
      #expect(frame.duration == .milliseconds(expected.milliseconds < 11 ? 100 : expected.milliseconds))
      for sample in expected.samples {
        let offset = (sample[1] * frame.pixels.size.width + sample[0]) * 4
        let pixel = frame.pixels.bytes[offset..<offset + 4].map(Int.init)
        if sample[5] == 0, pixel[3] == 0 { continue }
        #expect(zip(pixel, sample[2...]).allSatisfy { abs($0 - $1) <= 2 }, "\(pixel) at \(sample)")
      }
    }
  }

  @Test(arguments: FixtureAnimation.all)
  func `only the first frame is decoded on request, whatever follows`(_ fixture: FixtureAnimation) throws {
    let bytes = FixtureImage.named(fixture.name).bytes
    let whole = try Standard.decode(bytes)
    let first = try Standard.decode(bytes, options: DecodingOptions(firstFrameOnly: true))
    #expect(first.animation == nil)
    #expect(first.pixels == whole.pixels)
    #expect(first.header == whole.header)
    #expect(first.byteCount * fixture.frames.count == whole.byteCount)
  }

  @Test(
    arguments: [
      ("animated.avif", [200, 200, 200]), ("animated-alpha.avif", [100, 300]), ("animated.jxl", [200, 300, 200]),
      ("animated-alpha.jxl", [100, 300]),
    ]
  )
  func `frames of formats that Pillow may lack follow each other, or the first is decoded alone`(name: String, times: [Int])
    throws
  {
    guard let bytes = FixtureImage.ofEveryFormat.first(where: { $0.name == name })?.bytes else { return }
    let image = try Standard.decode(bytes)
    let frames = try #require(image.animation?.frames)
    #expect(frames.map(\.duration) == times.map { .milliseconds($0) } && frames[0].pixels == image.pixels)
    #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.pixels != $1.pixels })
    let first = try Standard.decode(bytes, options: DecodingOptions(firstFrameOnly: true))
    #expect(first.animation == nil && first.pixels == image.pixels)
  }

  @Test(arguments: FixtureAnimation.all) func `all frames are scaled to the requested size`(_ fixture: FixtureAnimation) throws {
    let bytes = FixtureImage.named(fixture.name).bytes
    let size = ImageSize(width: 40, height: 30)
    let small = try Standard.decode(bytes, options: DecodingOptions(thumbnail: ImageSize(width: 40, height: 100)))
    let whole = try Standard.decode(bytes)
    #expect(small.header == whole.header)
    #expect(try #require(small.animation).frames.allSatisfy { $0.pixels.size == size })
    #expect(small.animation?.frames.map(\.duration) == whole.animation?.frames.map(\.duration))
    let fewBytes = try Standard.decode(bytes, options: DecodingOptions(maximumBytes: 40 * 30 * 4))
    #expect(fewBytes.pixels == small.pixels)
  }

  @Test(arguments: FixtureAnimation.all)
  func `a prefix shows that the image is animated, and the whole file its frame count`(_ fixture: FixtureAnimation) throws {
    let bytes = FixtureImage.named(fixture.name).bytes
    #expect(try Standard.header(bytes).frames == fixture.frames.count)
    let prefix = try Standard.header(bytes, prefix: bytes.count / 4)
    #expect(prefix.frames < fixture.frames.count)
    // The header of a GIF that is shown once doesn't show that it is animated.
    #expect(prefix.isAnimated == (fixture.loops != nil))
  }

  @Test(arguments: FixtureAnimation.all) func `frame count and memory of all frames are limited`(_ fixture: FixtureAnimation)
    throws
  {
    let bytes = FixtureImage.named(fixture.name).bytes
    let count = fixture.frames.count
    let tooMany = "the animation has at least \(count) frames, but \(count - 1) are allowed"
    let error = rejection(bytes, DecodingLimits(maximumFrames: count - 1))
    #expect(error?.kind == .undecodable && error?.message == tooMany)
    #expect(throws: Never.self) { try Standard.decode(bytes, limits: DecodingLimits(maximumFrames: count)) }

    let image = try Standard.decode(bytes)
    let tight = DecodingLimits(maximumBytes: image.byteCount)
    #expect(imageError { try Standard.decode(bytes, limits: tight) }?.kind == .memory(maximumBytes: image.byteCount))
    let budget = DecodingBudget(bytes: 64 << 20)
    #expect(throws: Never.self) { try Standard.decode(bytes, limits: DecodingLimits(budget: budget)) }
    #expect(budget.takenBytes == 0)
  }

  @Test(arguments: FixtureAnimation.all) func `decoding time is limited`(_ fixture: FixtureAnimation) throws {
    let bytes = FixtureImage.named(fixture.name).bytes
    expectGolden(rejection(bytes, DecodingLimits(maximumTime: .nanoseconds(1)))?.message)
  }

  @Test(arguments: FixtureAnimation.all)
  func `a truncated animation is rejected, but its first frame alone decodes`(_ fixture: FixtureAnimation) throws {
    var bytes = Array(FixtureImage.named(fixture.name).bytes.dropLast(20))
    if fixture.name.hasSuffix(".webp") {
      // Shorten the file, the last frame and its picture by 40 bytes in their headers too, so that the container is complete.
      bytes = Array(FixtureImage.named(fixture.name).bytes.dropLast(40))
      let picture = try #require(bytes.indices.dropLast(4).last { bytes[$0...].starts(with: "VP8".utf8) })
      let frame = try #require(bytes.indices.dropLast(4).last { bytes[$0...].starts(with: "ANMF".utf8) })
      for chunk in [0, frame, picture] {
        let length = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: chunk + 4, as: UInt32.self) }
        withUnsafeBytes(of: length - 40) { bytes.replaceSubrange(chunk + 4..<chunk + 8, with: $0) }
      }
    }
    let error = rejection(bytes)
    #expect(error?.kind == .undecodable)
    #expect(error?.message.hasSuffix(" \(fixture.frames.count)") == true, "\(String(describing: error))")
    expectGolden(error?.message)
    #expect(throws: Never.self) { try Standard.decode(bytes, options: DecodingOptions(firstFrameOnly: true)) }
  }
}
