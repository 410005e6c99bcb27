#if AVIF
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("broken AVIF images") struct BrokenAVIFTests {
  @Test(
    arguments: [
      ("cut.avif", "libavif: BMFF parsing failed: Exceeded avifIO's sizeHint, possibly truncated data"),
      ("cut-animated.avif", "libavif: BMFF parsing failed: Exceeded avifIO's sizeHint, possibly truncated data"),
    ]
  )
  func `each broken AVIF is undecodable with a message`(name: String, sentence: String) {
    let bytes = Fixtures.bytes("images/avif/broken/\(name)")
    for error in [imageError { try AVIF.decode(bytes) }, imageError { try AVIF.prove(bytes) }] {
      #expect(error?.kind == .undecodable)
      #expect(error?.message.hasPrefix(sentence) == true, "\(error?.message ?? "no error")")
    }
  }

  @Test func `other files aren't AVIF`() {
    for bytes in [Fixtures.bytes("images/good/photo.jpg"), [], Array("ftypavif".utf8), [UInt8](repeating: 0, count: 64)] {
      #expect(imageError { try AVIF.header(bytes) }?.kind == .notAnImage)
      #expect(imageError { try AVIF.prove(bytes) }?.kind == .notAnImage)
    }
  }

  @Test func `the header of a small file that claims many pixels is rejected`() {
    let huge = Fixtures.bytes("images/avif/broken/huge.avif")
    let error = imageError { try AVIF.header(huge) }
    #expect(error?.kind == .dimensions(maximumPixels: 16_384 * 16_384))
    #expect(error?.message.contains("60000x60000") == true, "\(error?.message ?? "no error")")
    let large = Fixtures.bytes("images/avif/broken/large.avif")
    #expect(imageError { try AVIF.decode(large) }?.kind == .dimensions(maximumPixels: 100_000_000))
    #expect(imageError { try AVIF.prove(large) }?.kind == .dimensions(maximumPixels: 100_000_000))
  }

  @Test(arguments: AVIFImage.all) func `the pixel limit is exact`(_ image: AVIFImage) throws {
    let pixels = image.size.pixels
    _ = try AVIF.prove(image.bytes, limits: DecodingLimits(maximumPixels: pixels))
    let error = imageError { try AVIF.prove(image.bytes, limits: DecodingLimits(maximumPixels: pixels - 1)) }
    #expect(error?.kind == .dimensions(maximumPixels: pixels - 1))
  }

  @Test func `memory is limited and returned`() throws {
    let bytes = AVIFImage.named("photo.avif").bytes
    #expect(
      imageError { try AVIF.decode(bytes, limits: DecodingLimits(maximumBytes: 100_000)) }?.kind
        == .memory(maximumBytes: 100_000)
    )
    let budget = DecodingBudget(bytes: 1 << 20)
    let limits = DecodingLimits(budget: budget)
    _ = try AVIF.decode(bytes, limits: limits)
    var damaged = bytes
    let picture = bytes.offset(of: "mdat") + 4
    for index in picture..<picture + 16 { damaged[index] = 0xFF }
    let error = imageError { try AVIF.decode(damaged, limits: limits) }
    expectGolden(error?.message)
    #expect(budget.takenBytes == 0)
  }

  @Test func `boxes and tables are limited`() {
    let bytes = AVIFImage.named("photo.avif").bytes
    let start = Array(bytes[..<(bytes.offset(of: "meta") - 4)])
    let crumbs = start + Array(repeating: [UInt8]().boxed("free"), count: 10_001).joined() + bytes[start.count...]
    expectGolden(imageError { try AVIF.header(crumbs) }?.message)
    let table = [UInt8](repeating: 0, count: 600_000).boxed("iloc")
    let tables = start + ([0, 0, 0, 0] + table).boxed("meta") + bytes[start.count...]
    expectGolden(imageError { try AVIF.header(tables) }?.message)
  }

  @Test func `an image whose size differs from its box is scaled to the box`() throws {
    let image = try AVIF.decode(Fixtures.bytes("images/avif/broken/lying-size.avif"))
    #expect(image.pixels.size == ImageSize(width: 60, height: 40))
  }

  private static let limits = DecodingLimits(maximumPixels: 1_000_000)

  @Test(arguments: AVIFImage.all)
  func `no bytes crash the decoder, and decoding and verifying agree`(_ image: AVIFImage) {
    let bytes = image.bytes
    var random = SeededRandom(seed: UInt64(bytes.count))
    for place in 0..<80 {
      check(Array(bytes.prefix(bytes.count * place / 80)), "truncated at step \(place)")
      var damaged = bytes
      // Every second offset is in the boxes.
      let offset = Int.random(in: 0..<(place.isMultiple(of: 2) ? min(bytes.count, 500) : bytes.count), using: &random)
      damaged[offset] ^= UInt8.random(in: 1...255, using: &random)
      check(damaged, "byte \(offset) wrong at step \(place)")
    }
  }

  private func check(_ bytes: [UInt8], _ what: String) {
    let decoding = Result { try AVIF.decode(bytes, limits: Self.limits) }
    let proof = Result { try AVIF.prove(bytes, limits: Self.limits) }
    switch (decoding, proof) {
    case (.success(let image), .success(let proof)):
      #expect(image.header == proof.header, "\(what)")
      #expect(image.pixels.size == image.header.displaySize, "\(what)")
    case (.failure(let left), .failure(let right)):
      #expect(left as? ImageError == right as? ImageError, "\(what)")
      #expect((left as? ImageError)?.message.isEmpty == false, "\(what)")
    case (.success, .failure(let error)):
      Issue.record("\(what): decoded, but not verified: \(error)")
    case (.failure(let error), .success):
      Issue.record("\(what): verified, but not decoded: \(error)")
    }
  }
}
#endif
