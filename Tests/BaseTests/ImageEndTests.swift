import Foundation
import Base
import TestSupport
import Testing

/// Detection of image ends.
struct ImageEndTests {
  private func verdict(_ bytes: some Collection<UInt8>, pieces: Int = .max) -> ImageEnd.Verdict {
    var end = ImageEnd()
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let piece = rest.prefix(pieces)
      piece.withUnsafeBytes { end.add($0) }
      rest = rest.dropFirst(piece.count)
    }
    return end.verdict()
  }

  @Test func `complete images of all formats have reached their end, and no prefix of them has`() throws {
    var counts: [ImageFormat: Int] = [:]
    let names = try ["images/good", "images/avif"].flatMap { folder in
      try FileManager.default.contentsOfDirectory(atPath: Fixtures.path(folder)).sorted().map { "\(folder)/\($0)" }
    }
    for name in names where name.contains(".") {
      let bytes = Fixtures.bytes(name)
      guard let format = ImageFormat(of: bytes) else { continue }
      counts[format, default: 0] += 1
      #expect(verdict(bytes) == .reached, "\(name)")
      #expect(verdict(bytes, pieces: 7) == .reached, "\(name)")
      #expect(verdict(bytes + [1, 2, 3]) == .reached || format == .avif, "\(name)")
      for part in 1..<200 {
        let count = max(12, bytes.count * part / 200)
        if count < bytes.count { #expect(verdict(bytes[..<count]) == .missing, "\(name), \(count) of \(bytes.count) bytes") }
      }
      #expect(verdict(bytes.dropLast()) == .missing, "\(name)")
    }
    print("ends of images: \(counts.map { "\($0.key.name) \($0.value)" }.sorted())")
    #expect(Set(counts.keys).isSuperset(of: [.jpeg, .png, .gif, .webp, .avif]))
  }

  @Test func `a JPEG ends at its own end, not at its thumbnail's`() {
    let inner = SampleImages.baseJPEG
    let length = inner.count + 2
    let whole = inner[..<2] + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + inner + inner[2...]
    #expect(verdict(whole) == .reached)
    #expect(verdict(whole.prefix(4 + length)) == .missing)
  }

  @Test func `text counts as complete, and some formats don't mark their end`() {
    #expect(verdict(Array("<html>".utf8)) == .reached)
    #expect(verdict(Array("<svg xmlns='x'><g/></svg>\n".utf8)) == .reached)
    #expect(verdict(Array("<svg xmlns='x'><g/>".utf8)) == .unknowable)
    let commented = Array("<!--\(String(repeating: " ", count: 5000))--><svg xmlns='x'><g/>".utf8)
    #expect(verdict(commented) == .unknowable)
    #expect(verdict(commented, pieces: 100) == .unknowable)
    #expect(verdict(commented + Array("</svg>".utf8), pieces: 100) == .reached)
    #expect(verdict(commented.prefix(3000)) == .unknowable)
    #expect(verdict(Fixtures.bytes("images/svg/compressed.svgz")) == .unknowable)
    #expect(verdict([UInt8]()) == .unknowable)
    #expect(verdict([1, 2, 3] as [UInt8]) == .unknowable)
    #expect(verdict(Array("II*\0".utf8) + [UInt8](repeating: 0, count: 600)) == .unknowable)
  }

  @Test(arguments: 0..<20) func `random bytes never make it hang or crash`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let beginnings: [[UInt8]] = [
      [0xFF, 0xD8, 0xFF], Array("GIF89a".utf8), [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10],
      Array("RIFF\u{0}\u{0}\u{0}\u{0}WEBP".utf8),
      [0, 0, 0, 24] + Array("ftypavif".utf8), [0, 0, 0, 1] + Array("ftypavif".utf8) + [UInt8](repeating: 0xFF, count: 8),
    ]
    for beginning in beginnings {
      let noise = (0..<3000).map { _ in UInt8.random(in: 0...255, using: &random) }
      _ = verdict(beginning + noise, pieces: Int.random(in: 1...100, using: &random))
    }
  }
}
