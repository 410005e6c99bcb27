import ImageCoding
import Base
import TestSupport
import Testing

@Suite("libraries' messages") struct SilenceTests {
  /// Decodes corrupted copies of files below `images`, in a way that depends only on the seed; returns how many couldn't be decoded.
  private static func decodeCorrupt(_ files: [String], copies: Int) -> Int {
    var failures = 0
    for file in files {
      let bytes = Fixtures.bytes("images/\(file)")
      for seed in 1...copies {
        var random = SeededRandom(seed: UInt64(seed))
        var corrupt = bytes
        // The pictures are behind the header.
        for _ in 0..<4 {
          corrupt[Int.random(in: bytes.count / 3..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
        if seed % 4 == 0 { corrupt.removeLast(bytes.count / 4) }
        if (try? ImageCoderRegistry.standard.decode(corrupt)) == nil { failures += 1 }
      }
    }
    return failures
  }

  @Test(
    arguments: [
      ["avif/alpha.avif", "avif/animated-alpha.avif", "avif/grid.avif"],
      ["jxl/photo.jxl", "jxl/modular.jxl", "jxl/animated.jxl"],
      ["heic/photo.heic", "tiff/raw.tif"],
    ]
  )
  func `corrupt images print nothing`(files: [String]) async {
    let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [files = files as [String]] in
      let failures = Self.decodeCorrupt(files, copies: 40)
      try #require(failures > (files.count == 3 ? 20 : 5))
    }
    #expect(String(decoding: child?.standardErrorContent ?? [], as: UTF8.self) == "")
  }
}
