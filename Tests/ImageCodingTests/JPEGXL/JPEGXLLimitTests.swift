#if RareFormats
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("limits for JPEG XL images") struct JPEGXLLimitTests {
  private func errors(_ bytes: [UInt8], _ limits: DecodingLimits = DecodingLimits()) -> [ImageError?] {
    [imageError { try JPEGXL.decode(bytes, limits: limits) }, imageError { try JPEGXL.prove(bytes, limits: limits) }]
  }

  @Test(arguments: JPEGXLImage.all) func `the pixel limit is exact`(_ image: JPEGXLImage) throws {
    let pixels = image.size.pixels
    _ = try JPEGXL.prove(image.bytes, limits: DecodingLimits(maximumPixels: pixels))
    for error in errors(image.bytes, DecodingLimits(maximumPixels: pixels - 1)) {
      #expect(error?.kind == .dimensions(maximumPixels: pixels - 1))
    }
  }

  @Test func `a file of some bytes that claims 2^60 pixels is rejected by its header`() throws {
    var writer = JPEGXLWriter()
    writer.size(1 << 30, 1 << 30)
    writer.metadata(isAnimated: false)
    #expect(try JPEGXL.header(writer.bytes, prefix: writer.bytes.count).size == ImageSize(width: 1 << 30, height: 1 << 30))
    for error in errors(writer.bytes) { #expect(error?.kind == .dimensions(maximumPixels: 100_000_000)) }
    // All fields of the frame have their defaults, and so many pixels have too many groups for a table of contents.
    writer.bits(1, 8)
    for error in errors(writer.bytes, DecodingLimits(maximumPixels: .max)) {
      #expect(error?.kind == .dimensions(maximumPixels: 1 << 40))
    }
    expectGolden(imageError { try JPEGXL.header(writer.bytes) }?.message)
  }

  @Test func `a hidden frame that is larger than the image counts as memory`() throws {
    var writer = JPEGXLWriter()
    writer.size(16, 16)
    writer.metadata(isAnimated: true)
    writer.reference(19_000, 19_000)
    writer.frame(isLast: true)
    #expect(try JPEGXL.header(writer.bytes).size == ImageSize(width: 16, height: 16))
    let allowed = DecodingLimits().allowedBytes
    for error in errors(writer.bytes) { #expect(error?.kind == .memory(maximumBytes: allowed)) }
  }

  @Test func `splines count as any amount of memory`() {
    var writer = JPEGXLWriter()
    writer.size(16, 16)
    writer.metadata(isAnimated: true)
    writer.frame(isLast: true, flags: 16)
    for error in errors(writer.bytes) {
      #expect(error?.kind == .memory(maximumBytes: DecodingLimits().allowedBytes))
      expectGolden(error?.message)
    }
  }

  @Test func `memory is limited and returned`() throws {
    let bytes = JPEGXLImage.named("photo.jxl").bytes
    for error in errors(bytes, DecodingLimits(maximumBytes: 1_000_000)) {
      #expect(error?.kind == .memory(maximumBytes: 1_000_000))
    }
    let budget = DecodingBudget(bytes: 1 << 20)
    let limits = DecodingLimits(budget: budget)
    _ = try JPEGXL.decode(bytes, limits: limits)
    _ = try JPEGXL.prove(bytes, limits: limits)
    let corrupt = Fixtures.bytes("images/jxl/broken/corrupt.jxl")
    #expect(imageError { try JPEGXL.decode(corrupt, limits: limits) } != nil)
    #expect(budget.takenBytes == 0)
  }

  @Test func `frames and boxes are limited`() throws {
    let bytes = JPEGXLImage.named("animated.jxl").bytes
    #expect(throws: Never.self) { try JPEGXL.prove(bytes, limits: DecodingLimits(maximumFrames: 3)) }
    for error in errors(bytes, DecodingLimits(maximumFrames: 2)) { #expect(error?.kind == .undecodable) }
    var writer = JPEGXLWriter()
    writer.size(16, 16)
    writer.metadata(isAnimated: true)
    for index in 1...10_000 { writer.frame(isLast: index == 10_000) }
    #expect(try JPEGXL.header(writer.bytes).frames == 10_000)
    for error in errors(writer.bytes) { expectGolden(error?.message) }
    let crumbs = Array(repeating: [UInt8]().inBox("free"), count: 10_001).joined()
    for error in errors(.containerStart + crumbs + JPEGXLImage.named("photo.jxl").bytes.inBox("jxlc")) {
      expectGolden(error?.message)
    }
  }

  @Test func `the time limit is checked between sections`() {
    for name in ["photo.jxl", "animated.jxl"] {
      for error in errors(JPEGXLImage.named(name).bytes, DecodingLimits(maximumTime: .nanoseconds(1))) {
        expectGolden(error?.message)
      }
    }
  }
}
#endif
