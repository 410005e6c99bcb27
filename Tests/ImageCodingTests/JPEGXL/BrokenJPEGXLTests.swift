import ImageCoding
import Base
import TestSupport
import Testing

@Suite("broken JPEG XL images and limits") struct BrokenJPEGXLTests {
  private func errors(_ bytes: [UInt8], _ limits: DecodingLimits = DecodingLimits()) -> [ImageError?] {
    [imageError { try Standard.decode(bytes, limits: limits) }, imageError { try Standard.prove(bytes, limits: limits) }]
  }

  @Test func `a file of some bytes that claims 2^60 pixels is rejected by its header`() throws {
    var writer = JPEGXLWriter()
    writer.size(1 << 30, 1 << 30)
    writer.metadata(isAnimated: false)
    #expect(try Standard.header(writer.bytes, prefix: writer.bytes.count).size == ImageSize(width: 1 << 30, height: 1 << 30))
    for error in errors(writer.bytes) { #expect(error?.kind == .dimensions(maximumPixels: 100_000_000)) }
    for error in errors(writer.bytes, DecodingLimits(maximumPixels: .max)) {
      #expect(error?.kind == .dimensions(maximumPixels: 1 << 40))
    }
  }

  @Test(arguments: ["photo.jxl", "lossless.jxl", "animated.jxl", "profile.jxl"])
  func `libjxl gets no more memory than allowed`(name: String) throws {
    let bytes = FixtureImage.named(name).bytes
    for allowed in stride(from: 100_000, to: 1_100_000, by: 100_000) {
      for error in errors(bytes, DecodingLimits(maximumBytes: allowed)) { #expect(error?.kind == .memory(maximumBytes: allowed)) }
    }
    expectGolden(imageError { try Standard.prove(bytes, limits: DecodingLimits(maximumBytes: 100_000)) }?.message)
    #expect(throws: Never.self) { try Standard.prove(bytes) }
  }

  /// libjxl 0.7 would allocate 4 GB for the frame, and any amount for splines.
  @Test func `frames larger than the image and splines are rejected`() {
    var writer = JPEGXLWriter()
    writer.size(16, 16)
    writer.metadata(isAnimated: true)
    var splines = writer
    writer.reference(19_000, 19_000)
    writer.frame(isLast: true)
    splines.frame(isLast: true, flags: 16)
    for error in errors(writer.bytes) + errors(splines.bytes) { #expect(error != nil) }
  }

  @Test func `frames and boxes are limited`() throws {
    let bytes = FixtureImage.named("animated.jxl").bytes
    #expect(throws: Never.self) { try Standard.prove(bytes, limits: DecodingLimits(maximumFrames: 3)) }
    for error in errors(bytes, DecodingLimits(maximumFrames: 2)) { #expect(error?.kind == .undecodable) }
    var writer = JPEGXLWriter()
    writer.size(16, 16)
    writer.metadata(isAnimated: true)
    for index in 1...10_000 { writer.frame(isLast: index == 10_000) }
    #expect(try Standard.header(writer.bytes).frames == 10_000)
    for error in errors(writer.bytes) { expectGolden(error?.message) }
    let crumbs = Array(repeating: [UInt8]().boxed("free"), count: 10_001).joined()
    for error in errors(.containerStart + crumbs + FixtureImage.named("photo.jxl").bytes.boxed("jxlc")) {
      expectGolden(error?.message)
    }
  }

  @Test func `the time limit is checked between sections`() {
    for name in ["photo.jxl", "animated.jxl"] {
      for error in errors(FixtureImage.named(name).bytes, DecodingLimits(maximumTime: .nanoseconds(1))) {
        expectGolden(error?.message)
      }
    }
  }

  @Test func `boxes that don't make a file are rejected`() {
    let image = FixtureImage.named("lossless.jxl").bytes
    let start = [UInt8].containerStart
    let files: [[UInt8]] = [
      [UInt8](start.prefix(12)) + image.boxed("jxlc"),
      [UInt8](start.prefix(12)) + Array("jxl ".utf8).boxed("ftyp") + image.boxed("jxlc"),
      [UInt8](start.prefix(12)) + Array("avif\0\0\0\0jxl ".utf8).boxed("ftyp") + image.boxed("jxlc"),
      start + [0, 0].boxed("jxlp"),
      start + start.suffix(20) + image.boxed("jxlc"),
      start + [0, 0, 0, 3] + Array("free".utf8) + image.boxed("jxlc"),
      start + [0, 0, 0, 1] + Array("jxlc".utf8) + [0x80, 0, 0, 0, 0, 0, 0, 0] + image,
      start + [0, 0, 0, 1] + Array("jxlc".utf8) + [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] + image,
      start + [0, 0, 0, 1] + Array("jxlc".utf8) + [0, 0, 0, 0, 0, 0, 0, 4] + image,
      start + image.boxed("jxlc") + [0, 0, 1, 0] + Array("Exif".utf8),
    ]
    for file in files {
      let error = imageError { try Standard.header(file) }
      #expect(error?.kind == .undecodable)
      #expect(error == imageError { try Standard.prove(file) })
      expectGolden(error?.message)
    }
  }

  @Test func `a box may have no size at the end of the file`() throws {
    let image = FixtureImage.named("lossless.jxl").bytes
    #expect(try Standard.decode(.containerStart + [0, 0, 0, 0] + Array("jxlc".utf8) + image) == Standard.decode(image))
  }
}
