import ImageCoding
import Base
import TestSupport
import Testing

@Suite("damaged files don't crash, and decoding and verifying agree") struct DamageTests {
  private static let limits = DecodingLimits(maximumPixels: 1_000_000, maximumScans: 50)

  @Test(arguments: FixtureImage.ofEveryFormat) func `no truncated file is good`(_ image: FixtureImage) {
    let bytes = image.bytes
    // A profile or the end of the last chunk may be missing, and padding.
    let end = image.name == "profile.bmp" ? 138 + 30 * 124 : bytes.count
    for length in stride(from: 0, to: end - 12, by: image.folder == "good" ? max(1, bytes.count / 250) : 7) {
      let isGood = check(Array(bytes.prefix(length)), "the first \(length) bytes")
      // libjpeg's arithmetic decoder may need no further bytes, and a GIF may end between blocks.
      #expect(!isGood || image.name.hasSuffix(".gif") || image.name == "arithmetic.jpg", "\(length) of \(bytes.count)")
      guard image.name.hasSuffix(".webp"), length > 30 else { continue }
      // Adjust the container's length, so that truncation must be detected in the bitstream.
      var adjusted = Array(bytes.prefix(length))
      withUnsafeBytes(of: UInt32(length - 8).littleEndian) { adjusted.replaceSubrange(4..<8, with: $0) }
      check(adjusted, "the first \(length) bytes with the container's length adjusted")
    }
  }

  @Test(arguments: FixtureImage.ofEveryFormat) func `no wrong bytes crash a decoder`(_ image: FixtureImage) {
    let bytes = image.bytes
    let headerBytes = min(bytes.count, ["avif", "heic"].contains(image.folder) ? 700 : 200)
    var random = SeededRandom(seed: UInt64(bytes.count))
    for step in 0..<250 {
      var damaged = bytes
      for _ in 0...step % 3 {
        // Two of three offsets are in the headers, with sizes and lengths.
        let offset = Int.random(in: 0..<(step % 3 > 0 ? headerBytes : bytes.count), using: &random)
        damaged[offset] ^= UInt8.random(in: 1...255, using: &random)
      }
      if step % 10 == 0 { damaged.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
      check(damaged, "step \(step)")
    }
  }

  /// Checks that decoding and verifying agree, and returns whether the file is good.
  @discardableResult
  private func check(_ bytes: [UInt8], _ what: String) -> Bool {
    let decoding = Result { try Standard.decode(bytes, limits: Self.limits) }
    let proof = Result { try Standard.prove(bytes, limits: Self.limits) }
    switch (decoding, proof) {
    case (.success(let image), .success(let proof)):
      #expect(image.header == proof.header, "\(what)")
      #expect(image.header.size.pixels <= Self.limits.maximumPixels, "\(what)")
      #expect(image.pixels.size == image.header.displaySize, "\(what)")
      #expect(image.warnings == proof.warnings, "\(what)")
      return true
    case (.failure(let left as ImageError), .failure(let right as ImageError)):
      // Kept pixels need memory, too.
      if case .memory = left.kind { return false }
      #expect(left == right, "\(what)")
      #expect(!left.message.isEmpty, "\(what)")
    case (.failure(let error as ImageError), .success):
      if case .memory = error.kind { return false }
      Issue.record("\(what): verified, but not decoded: \(error)")
    case (.success, .failure(let error)): Issue.record("\(what): decoded, but not verified: \(error)")
    default: Issue.record("\(what)")
    }
    return false
  }
}
