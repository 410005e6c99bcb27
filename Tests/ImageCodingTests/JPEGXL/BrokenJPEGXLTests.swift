#if RareFormats
import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("broken JPEG XL images") struct BrokenJPEGXLTests {
  @Test func `a header that ends within skipped bits needs more bytes than there are`() {
    let bytes: [UInt8] = [0xFF, 0x0A, 0x68, 0x74, 0x74, 0x70, 0x3A, 0x2F, 0x2F, 0x77, 0x77, 0x77]
    let error = imageError { try JPEGXL.header(bytes + [0], prefix: bytes.count) }
    guard case .needsMoreBytes(let minimum)? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(minimum > bytes.count)
  }

  @Test(
    arguments: [
      "cut.jxl", "cut-animated.jxl", "cut-pieces.jxl", "out-of-order.jxl", "without-codestream.jxl", "corrupt.jxl",
    ]
  )
  func `each broken JPEG XL is undecodable with a message`(name: String) {
    let bytes = Fixtures.bytes("images/jxl/broken/\(name)")
    let errors = [imageError { try JPEGXL.decode(bytes) }, imageError { try JPEGXL.prove(bytes) }]
    #expect(errors.allSatisfy { $0?.kind == .undecodable })
    #expect(errors[0] == errors[1])
    expectGolden(errors[0]?.message)
    // Only pixels show that this one is corrupt.
    #expect((imageError { try JPEGXL.header(bytes) } == nil) == (name == "corrupt.jxl"))
  }

  @Test func `other files aren't JPEG XL`() {
    for bytes in [Fixtures.bytes("images/good/photo.jpg"), [], Array("JXL ".utf8), [UInt8](repeating: 0, count: 64)] {
      #expect(imageError { try JPEGXL.header(bytes) }?.kind == .notAnImage)
      #expect(imageError { try JPEGXL.prove(bytes) }?.kind == .notAnImage)
    }
  }

  @Test func `boxes that don't make a file are rejected`() {
    let image = JPEGXLImage.named("lossless.jxl").bytes
    let index: [UInt8] = [0x80, 0, 0, 0]
    let start = [UInt8].containerStart
    let files: [[UInt8]] = [
      [UInt8](start.prefix(12)) + image.inBox("jxlc"),
      [UInt8](start.prefix(12)) + Array("jxl ".utf8).inBox("ftyp") + image.inBox("jxlc"),
      [UInt8](start.prefix(12)) + Array("avif\0\0\0\0jxl ".utf8).inBox("ftyp") + image.inBox("jxlc"),
      start + image.inBox("jxlc") + image.inBox("jxlc"),
      start + image.inBox("jxlc") + (index + image).inBox("jxlp"),
      start + (index + image).inBox("jxlp") + ([0x80, 0, 0, 1] + image).inBox("jxlp"),
      start + ([0, 0, 0, 0] + image).inBox("jxlp") + ([0, 0, 0, 0] + image).inBox("jxlp"),
      start + ([0, 0, 0, 0] + image).inBox("jxlp"),
      start + [0, 0].inBox("jxlp"),
      start + start.suffix(20) + image.inBox("jxlc"),
      start + [0, 0, 0, 3] + Array("free".utf8) + image.inBox("jxlc"),
      start + [0, 0, 0, 1] + Array("jxlc".utf8) + [0x80, 0, 0, 0, 0, 0, 0, 0] + image,
      start + [0, 0, 0, 1] + Array("jxlc".utf8) + [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] + image,
      start + [0, 0, 0, 1] + Array("jxlc".utf8) + [0, 0, 0, 0, 0, 0, 0, 4] + image,
      start + image.inBox("jxlc") + [0, 0, 1, 0] + Array("Exif".utf8),
    ]
    for file in files {
      let error = imageError { try JPEGXL.header(file) }
      #expect(error?.kind == .undecodable)
      #expect(error == imageError { try JPEGXL.prove(file) })
      expectGolden(error?.message)
    }
  }

  @Test func `a box may have a long size, or none at the end of the file`() throws {
    let image = JPEGXLImage.named("lossless.jxl").bytes
    let long =
      [0, 0, 0, 1] + Array("jxlc".utf8) + Swift.withUnsafeBytes(of: UInt64(image.count + 16).bigEndian, Array.init) + image
    #expect(try JPEGXL.decode(.containerStart + long) == JPEGXL.decode(image))
    #expect(try JPEGXL.decode(.containerStart + [0, 0, 0, 0] + Array("jxlc".utf8) + image) == JPEGXL.decode(image))
  }

  @Test(arguments: JPEGXLImage.all) func `a file cut at any byte is never good`(_ image: JPEGXLImage) {
    for length in stride(from: 0, to: image.bytes.count, by: 7) {
      let cut = Array(image.bytes.prefix(length))
      let error = imageError { try JPEGXL.prove(cut) }
      #expect(error?.kind == .undecodable || error?.kind == .notAnImage, "\(length)")
      #expect(error?.message.contains("truncated") == true || length < 12, "\(length): \(error?.message ?? "good")")
      #expect(imageError { try JPEGXL.header(cut) } != nil, "\(length)")
    }
  }

  private static let limits = DecodingLimits(maximumPixels: 1_000_000, maximumTime: .seconds(5))

  @Test(arguments: JPEGXLImage.all)
  func `no bytes crash the decoder, and decoding and verifying agree`(_ image: JPEGXLImage) {
    let bytes = image.bytes
    var random = SeededRandom(seed: UInt64(bytes.count))
    for step in 0..<60 {
      var damaged = bytes
      // Every second offset is in the headers.
      let offset = Int.random(in: 0..<(step.isMultiple(of: 2) ? min(bytes.count, 80) : bytes.count), using: &random)
      damaged[offset] ^= UInt8.random(in: 1...255, using: &random)
      check(damaged, "byte \(offset) wrong at step \(step)")
    }
  }

  private func check(_ bytes: [UInt8], _ what: String) {
    let decoding = Result { try JPEGXL.decode(bytes, limits: Self.limits) }
    let proof = Result { try JPEGXL.prove(bytes, limits: Self.limits) }
    switch (decoding, proof) {
    case (.success(let image), .success(let proof)):
      #expect(image.header == proof.header, "\(what)")
      #expect(image.pixels.size == image.header.displaySize, "\(what)")
    case (.failure(let left as ImageError), .failure(let right as ImageError)):
      // Kept pixels need memory, too.
      #expect(left == right || left.kind == .memory(maximumBytes: Self.limits.allowedBytes), "\(what)")
      #expect(!left.message.isEmpty, "\(what)")
    case (.success, .failure(let error)): Issue.record("\(what): decoded, but not verified: \(error)")
    case (.failure(let error as ImageError), .success):
      #expect(error.kind == .memory(maximumBytes: Self.limits.allowedBytes), "\(what): verified, but not decoded: \(error)")
    default: Issue.record("\(what)")
    }
  }

  @Test func `libjxl prints nothing about a corrupt image`() throws {
    let bytes = Fixtures.bytes("images/jxl/broken/corrupt.jxl")
    let folder = TemporaryDirectory()
    let path = "\(folder.path)/stderr"
    let (file, original) = (open(path, O_RDWR | O_CREAT, 0o600), dup(2))
    dup2(file, 2)
    for _ in 0..<3 { _ = imageError { try JPEGXL.prove(bytes) } }
    dup2(original, 2)
    close(file)
    close(original)
    // Other tests may print meanwhile.
    let printed = try String(contentsOfFile: path, encoding: .utf8)
    FileHandle.standardError.write(Data(printed.utf8))
    #expect(!printed.contains("jxl/"), "\(printed)")
  }
}
#endif
