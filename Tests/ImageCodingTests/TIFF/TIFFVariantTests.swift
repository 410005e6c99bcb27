import ImageCoding
import Base
import Testing

@Suite("variants of TIFF images") struct TIFFVariantTests {
  /// The first pixel of a page of one pixel, or of the first block.
  private func pixel(_ page: TIFFFile.Page, isBig: Bool = false, isBigEndian: Bool = false) throws -> [UInt8] {
    var file = TIFFFile(page)
    (file.isBig, file.isBigEndian) = (isBig, isBigEndian)
    let image = try Standard.decode(file.bytes)
    #expect(try Standard.prove(file.bytes).header == image.header)
    return Array(image.pixels.bytes[..<4])
  }

  @Test(arguments: [1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 32])
  func `samples of all sizes cover black to white`(_ bits: Int) throws {
    // Three samples: all bits, none, and the highest one.
    let row = (0..<bits * 3 + 8).map { UInt8($0 < bits || $0 == 2 * bits ? 1 : 0) }
    let bytes = stride(from: 0, to: bits * 3 + 7, by: 8).map { start -> UInt8 in
      row[start..<min(start + 8, row.count)].reduce(0) { $0 << 1 | $1 }
    }
    var file = TIFFFile(TIFFFile.Page(width: 3, height: 1, bits: bits, bytes))
    file.isBigEndian = true
    let image = try Standard.decode(file.bytes)
    let maximum = Double(1 << bits - 1)
    let half = Double(1 << (bits - 1)) / maximum * 255
    #expect(image.pixels.bytes[0] == 255 && image.pixels.bytes[4] == 0 && abs(Double(image.pixels.bytes[8]) - half) <= 1)
  }

  @Test func `white may be 0`() throws {
    #expect(try pixel(TIFFFile.Page(width: 1, height: 1, photometric: 0, [40])) == [215, 215, 215, 255])
    #expect(try pixel(TIFFFile.Page(width: 1, height: 1, bits: 16, photometric: 0, [0, 40])) == [215, 215, 215, 255])
  }

  @Test(
    arguments: [(0, 0), (0.5, 128), (1, 255), (7, 255), (-1, 0), (.nan, 0), (.infinity, 255)] as [(Float, UInt8)]
  )
  func `floating-point numbers from 0 to 1 are black to white`(value: Float, expected: UInt8) throws {
    let grey = [expected, expected, expected, 255]
    func bytes(_ value: some BitwiseCopyable) -> [UInt8] { withUnsafeBytes(of: value, Array.init) }
    #expect(try pixel(TIFFFile.Page(width: 1, height: 1, bits: 32, bytes(value), [339: [3]])) == grey)
    #expect(try pixel(TIFFFile.Page(width: 1, height: 1, bits: 64, bytes(Double(value)), [339: [3]]), isBig: true) == grey)
    let half: [Float: UInt16] = [0: 0, 0.5: 0x3800, 1: 0x3C00, 7: 0x4700, -1: 0xBC00, .infinity: 0x7C00]
    #expect(try pixel(TIFFFile.Page(width: 1, height: 1, bits: 16, bytes(half[value] ?? 0x7E00), [339: [3]])) == grey)
  }

  @Test func `negative numbers are black`() throws {
    #expect(try pixel(TIFFFile.Page(width: 1, height: 1, [0xFF], [339: [2]])) == [0, 0, 0, 255])
    #expect(try pixel(TIFFFile.Page(width: 1, height: 1, [127], [339: [2]])) == [255, 255, 255, 255])
    #expect(
      try pixel(TIFFFile.Page(width: 1, height: 1, bits: 16, [0x7F, 0xFF], [339: [2]]), isBigEndian: true) == [
        255, 255, 255, 255,
      ]
    )
    #expect(
      try pixel(TIFFFile.Page(width: 1, height: 1, bits: 32, [0x80, 0, 0, 0], [339: [2]]), isBigEndian: true) == [0, 0, 0, 255]
    )
  }

  @Test func `further samples are opacity only if they are declared so, or if RGB has one undeclared`() throws {
    func rgb(_ data: [UInt8], _ extra: [Int]) throws -> [UInt8] {
      try pixel(
        TIFFFile.Page(width: 1, height: 1, samples: data.count, photometric: 2, data, extra.isEmpty ? [:] : [338: extra]),
        isBig: true
      )
    }
    #expect(try rgb([10, 20, 30, 40], [0]) == [10, 20, 30, 255])
    #expect(try rgb([10, 20, 30, 40], [2]) == [10, 20, 30, 40])
    #expect(try rgb([10, 20, 30, 40], []) == [10, 20, 30, 40])
    #expect(try rgb([10, 20, 30, 40], [1]) == [64, 128, 191, 40])
    #expect(try rgb([10, 20, 30, 0], [1]) == [0, 0, 0, 0])
    #expect(try rgb([10, 20, 30, 40, 50], [0, 2]) == [10, 20, 30, 50])
    #expect(try rgb([10, 20, 30, 40, 50, 60], [0, 0, 0]) == [10, 20, 30, 255])
    #expect(
      try pixel(TIFFFile.Page(width: 1, height: 1, samples: 5, photometric: 5, [0, 0, 255, 0, 99], [338: [2]])) == [
        255, 255, 0, 99,
      ]
    )
  }

  @Test func `separate planes are joined, and unused ones decoded too`() throws {
    var page = TIFFFile.Page(width: 2, height: 1, samples: 6, photometric: 2, [], [284: [2], 338: [0, 2, 0]])
    page.strips = (0..<6).map { (plane: UInt8) in [plane * 10, plane * 10 + 1] }
    #expect(try Standard.decode(TIFFFile(page).bytes).pixels.bytes == [0, 10, 20, 40, 1, 11, 21, 41])
    page.fields[273] = [8, 10, 12, 14, 16, 0]
    #expect(TIFF.error(TIFFFile(page).bytes)?.kind == .undecodable)
  }

  @Test(
    arguments: [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (4, 2), (4, 4)]
  )
  func `pixels of a block share their chroma`(across: Int, down: Int) throws {
    // Two rows and columns of blocks, with one pixel each beyond the image's edge: luma ascends, chroma is red or neutral.
    let (width, height) = (across * 2 - (across > 1 ? 1 : 0), down * 2 - (down > 1 ? 1 : 0))
    var data: [UInt8] = []
    for block in 0..<4 { data += (0..<across * down).map { UInt8(block * 20 + $0) } + [128, block == 0 ? 228 : 128] }
    let page = TIFFFile.Page(width: width, height: height, samples: 3, photometric: 6, data, [530: [across, down]])
    let image = try Standard.decode(TIFFFile(page).bytes)
    for y in 0..<height {
      for x in 0..<width {
        let block = y / down * 2 + x / across
        let luma = Double(block * 20 + y % down * across + x % across)
        let chroma = block == 0 ? 100.0 : 0
        let expected = [luma + 1.402 * chroma, luma - 0.714 * chroma, luma].map { max(0, $0.rounded()) }
        let pixel = image.pixels.bytes[(y * width + x) * 4..<(y * width + x) * 4 + 3]
        #expect(zip(pixel, expected).allSatisfy { abs(Double($0) - $1) <= 2 }, "\(Array(pixel)), not \(expected) at \(x), \(y)")
      }
    }
  }

  @Test(
    arguments: [
      (259, 34_661, "prewarm doesn't decode TIFF images with Compression 34661"),
      (259, 6, "prewarm doesn't decode TIFF images with Compression 6"),
      (262, 32_803, "prewarm can't convert colours with PhotometricInterpretation 32803"),
      (339, 5, "prewarm can't convert samples of 8 bits with SampleFormat 5"),
      (32_997, 2, "prewarm doesn't decode TIFF images with ImageDepth 2"),
    ]
  )
  func `variants that can't be converted may be good`(tag: Int, value: Int, sentence: String) {
    let page = TIFFFile.Page(width: 1, height: 1, [7, 7], [tag: [value]])
    let error = TIFF.error(TIFFFile(page).bytes)
    #expect(error?.kind == .unavailable)
    #expect(error?.message == sentence)
  }
}
