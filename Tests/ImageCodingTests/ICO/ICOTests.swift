import ImageCoding
import Base
import TestSupport
import Testing

@Suite("icons") struct ICOTests {
  private typealias Picture = ICOMaker.Picture

  /// The icon, after checking that decoding and verifying agree.
  private func decoded(_ bytes: [UInt8]) throws -> DecodedImage {
    let image = try Standard.decode(bytes)
    let proof = try Standard.prove(bytes)
    #expect(proof.header == image.header && proof.warnings == image.warnings)
    return image
  }

  @Test func `the largest picture counts, then the deepest, then the first`() throws {
    let small = Picture(bytes: ICOMaker.bitmap(side: 8), side: 8)
    let large = Picture(bytes: ICOMaker.png(side: 16), side: 16)
    #expect(try decoded(ICOMaker.file([small, large])).pixels.pixel(0, 0) == [7, 7, 7, 255])
    let shallow = Picture(bytes: ICOMaker.bitmap(side: 8, bits: 24, [1, 1, 1]), side: 8)
    let second = Picture(bytes: ICOMaker.bitmap(side: 8, [2, 2, 2, 255]), side: 8)
    #expect(try decoded(ICOMaker.file([shallow, small, second])).pixels.pixel(0, 0) == [30, 20, 10, 255])
    // The directory can't distinguish sizes from 256.
    let pictures = [256, 300, 257].map { Picture(bytes: ICOMaker.png(side: $0), side: 0) }
    let image = try decoded(ICOMaker.file(pictures))
    #expect(image.header.size == ImageSize(width: 300, height: 300) && image.warnings == [])
  }

  @Test func `the mask makes pixels transparent; those of 32 bits have their own alpha unless it is 0 everywhere`() throws {
    func pixel(_ bits: Int, alpha: UInt8, mask: UInt8?) throws -> [UInt8] {
      let bitmap = ICOMaker.bitmap(side: 8, bits: bits, [10, 20, 30, alpha], mask: mask)
      return try decoded(ICOMaker.file([Picture(bytes: bitmap, side: 8)])).pixels.pixel(3, 3)
    }
    #expect(try pixel(24, alpha: 0, mask: 0) == [30, 20, 10, 255])
    #expect(try pixel(24, alpha: 0, mask: 0xFF) == [30, 20, 10, 0])
    #expect(try pixel(32, alpha: 200, mask: 0xFF) == [30, 20, 10, 200])
    #expect(try pixel(32, alpha: 200, mask: nil) == [30, 20, 10, 200])
    #expect(try pixel(32, alpha: 0, mask: 0xFF) == [30, 20, 10, 0])
    #expect(try pixel(32, alpha: 0, mask: 0) == [30, 20, 10, 255])
    #expect(try pixel(32, alpha: 0, mask: nil) == [30, 20, 10, 255])
    #expect(imageError { try pixel(24, alpha: 0, mask: nil) }?.kind == .undecodable)
    let cut = Picture(bytes: ICOMaker.bitmap(side: 8, mask: nil), side: 8, length: 328)
    #expect(rejection(ICOMaker.file([cut]))?.kind == .undecodable)
  }

  @Test func `the rows of masks are stored like those of the bitmap`() throws {
    func alpha(height: Int) throws -> [UInt8] {
      var maker = BMPMaker(width: 1, height: height, bits: 24)
      maker.data = [1, 1, 1, 0, 2, 2, 2, 0, 0x80, 0, 0, 0, 0, 0, 0, 0]
      return try decoded(ICOMaker.file([Picture(bytes: maker.bitmap, side: 1)])).pixels.bytes
    }
    #expect(try alpha(height: 4) == [2, 2, 2, 255, 1, 1, 1, 0])
    #expect(try alpha(height: -4) == [1, 1, 1, 0, 2, 2, 2, 255])
  }

  @Test func `a directory with wrong sizes or lengths causes warnings`() throws {
    let first = Picture(bytes: ICOMaker.bitmap(side: 8), side: 9)
    let second = Picture(bytes: ICOMaker.bitmap(side: 16), side: 16, length: 100_000)
    let image = try decoded(ICOMaker.file([first, second]))
    #expect(image.header.size == ImageSize(width: 16, height: 16))
    expectGolden(image.warnings.joined(separator: "\n"))
    let short = Picture(bytes: ICOMaker.bitmap(side: 8), side: 8, length: 0)
    #expect(try decoded(ICOMaker.file([short])).warnings == [])
    // The size is that of the largest picture's own header.
    let lying = Picture(bytes: ICOMaker.png(side: 5), side: 32)
    #expect(try decoded(ICOMaker.file([lying])).pixels.size == ImageSize(width: 5, height: 5))
  }

  @Test func `every picture is verified, and errors name it`() throws {
    let good = Picture(bytes: ICOMaker.png(side: 16), side: 16)
    var damaged = ICOMaker.png(side: 8)
    damaged[50] ^= 1
    let cases: [[UInt8]] = [
      damaged, Array(ICOMaker.bitmap(side: 8, bits: 24).dropLast(9)), Array(ICOMaker.bitmap(side: 8).prefix(80)),
      Array("<html>".utf8), [],
      BMPMaker(bits: 8, compression: 1, data: [UInt8](repeating: 0, count: 2000)).bitmap, [UInt8](repeating: 0, count: 50),
    ]
    for bytes in cases {
      let file = ICOMaker.file([good, Picture(bytes: bytes, side: 8)])
      expectGolden(rejection(file)?.message)
      // The first frame is the largest picture, which is good.
      #expect(throws: Never.self) { try Standard.decode(file, options: DecodingOptions(firstFrameOnly: true)) }
    }
  }

  @Test func `pictures outside the file or inside the directory are undecodable`() {
    let bytes = ICOMaker.bitmap(side: 8)
    for offset in [0, 21, 1_000_000, Int(UInt32.max)] {
      let file = ICOMaker.file([Picture(bytes: bytes, side: 8, offset: offset)])
      #expect(rejection(file)?.kind == .undecodable)
      expectGolden(rejection(file)?.message)
      #expect(imageError { try Standard.header(file) } == rejection(file))
    }
  }

  @Test func `a prefix suffices once it has the header of the largest picture`() throws {
    let pictures = [
      Picture(bytes: ICOMaker.bitmap(side: 48), side: 48), Picture(bytes: ICOMaker.bitmap(side: 64), side: 64),
      Picture(bytes: ICOMaker.bitmap(side: 32), side: 32),
    ]
    let file = ICOMaker.file(pictures)
    let start = 6 + 48 + pictures[0].bytes.count
    func missing(_ length: Int) -> ImageError.Kind? { imageError { try Standard.header(file, prefix: length) }?.kind }
    #expect(missing(4) == .needsMoreBytes(minimum: 6))
    #expect(missing(6) == .needsMoreBytes(minimum: 54))
    #expect(missing(54) == .needsMoreBytes(minimum: start + 40))
    #expect(imageError { try Standard.header(file, prefix: 54) }?.neededStart == start)
    let twice = ICOMaker.file(pictures + [pictures[1]])
    #expect(imageError { try Standard.header(twice, prefix: 70) }?.neededStart == nil)
    #expect(try Standard.header(file, prefix: start + 40) == Standard.header(file))
  }

  @Test func `too many pictures are rejected`() {
    let picture = Picture(bytes: [], side: 1, length: 100, offset: 6 + 16 * 5_001)
    let pictures = Array(repeating: picture, count: 5_000)
    let shared = Picture(bytes: ICOMaker.bitmap(side: 1), side: 1, offset: 6 + 16 * 5_001)
    #expect(rejection(ICOMaker.file(pictures + [shared])) != nil)
    expectGolden(rejection(ICOMaker.file(pictures + [shared]))?.message)
    #expect(rejection(ICOMaker.file(pictures + [shared]), DecodingLimits(maximumFrames: 5_001)) == nil)
    #expect(rejection(ICOMaker.file(pictures + [shared]), DecodingLimits(maximumFrames: 5_001, maximumChunks: 5_000)) != nil)
  }

  @Test func `a picture that many entries refer to is decoded once`() throws {
    let count = 65_535
    let png = ICOMaker.png(side: 1000)
    var pictures = Array(repeating: Picture(bytes: [], side: 0, length: png.count, offset: 6 + 16 * count), count: count)
    pictures[0].bytes = png
    let file = ICOMaker.file(pictures)
    let limits = DecodingLimits(maximumFrames: count, maximumChunks: count, maximumTime: .seconds(5))
    #expect(try Standard.prove(file, limits: limits).header.frames == count)
    #expect(try Standard.header(file).size == ImageSize(width: 1000, height: 1000))
  }

  @Test func `all pictures together may have 8 times the allowed pixels`() {
    func file(_ count: Int) -> [UInt8] {
      ICOMaker.file(Array(repeating: Picture(bytes: ICOMaker.png(side: 10), side: 10), count: count))
    }
    let limits = DecodingLimits(maximumPixels: 100)
    #expect(rejection(file(8), limits) == nil)
    #expect(rejection(file(9), limits)?.kind == .dimensions(maximumPixels: 100))
    expectGolden(rejection(file(9), limits)?.message)
    let hidden = ICOMaker.file([
      Picture(bytes: ICOMaker.png(side: 10), side: 10), Picture(bytes: ICOMaker.png(side: 11), side: 1),
    ])
    #expect(rejection(hidden, limits)?.kind == .dimensions(maximumPixels: 100))
    expectGolden(rejection(hidden, limits)?.message)
  }

  @Test(arguments: [[], [0], [0, 0, 3, 0, 1, 0], Array("GIF89a".utf8)] as [[UInt8]])
  func `other files aren't icons`(bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in
      #expect(imageError { try ICOCoder().header(of: bytes, isComplete: true) }?.kind == .notAnImage)
      #expect(imageError { try BMPCoder().header(of: bytes, isComplete: true) }?.kind == .notAnImage)
    }
  }

  @Test func `an icon without pictures is undecodable`() {
    let error = imageError { try ICOMaker.file([]).withUnsafeBytes { try ICOCoder().header(of: $0, isComplete: true) } }
    expectGolden(error?.message)
  }
}
