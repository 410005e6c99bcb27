import ImageCoding
import Base
import TestSupport
import Testing

@Suite("damaged files don't crash, and decoding and verifying agree") struct DamageTests {
  private static let places = 250
  private static let limits = DecodingLimits(maximumPixels: 1_000_000, maximumScans: 50)

  @Test(arguments: FixtureImage.all) func `truncated files never crash a decoder`(_ image: FixtureImage) {
    let bytes = image.bytes
    for place in 0..<Self.places {
      var bytes = Array(bytes.prefix(bytes.count * place / Self.places))
      check(bytes, "truncated at step \(place)")
      guard image.name.hasSuffix(".webp"), bytes.count > 30 else { continue }
      // Adjust the container's length, so that truncation must be detected in the bitstream.
      withUnsafeBytes(of: UInt32(bytes.count - 8).littleEndian) { bytes.replaceSubrange(4..<8, with: $0) }
      check(bytes, "truncated at step \(place) with the container's length adjusted")
    }
  }

  @Test(arguments: FixtureImage.all) func `files with a wrong byte never crash a decoder`(_ image: FixtureImage) {
    var random = SeededRandom(seed: UInt64(image.bytes.count))
    for place in 0..<Self.places {
      var bytes = image.bytes
      // Every second offset is in the header, with sizes and lengths.
      let offset = Int.random(in: 0..<(place.isMultiple(of: 2) ? min(bytes.count, 200) : bytes.count), using: &random)
      bytes[offset] ^= UInt8.random(in: 1...255, using: &random)
      check(bytes, "byte \(offset) wrong at step \(place)")
    }
  }

  private func check(_ bytes: [UInt8], _ what: String) {
    let decoding = Result { try Standard.decode(bytes, limits: Self.limits) }
    let proof = Result { try Standard.prove(bytes, limits: Self.limits) }
    switch (decoding, proof) {
    case (.success(let image), .success(let proof)):
      #expect(image.header == proof.header, "\(what)")
      #expect(image.header.size.pixels <= Self.limits.maximumPixels, "\(what)")
      #expect(image.warnings == proof.warnings, "\(what)")
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
