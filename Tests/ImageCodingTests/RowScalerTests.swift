@testable import ImageCoding
import Base
import TestSupport
import Testing

@Suite("scaling by area averaging") struct RowScalerTests {
  @Test(
    arguments: [
      (7, 5, 3, 2), (10, 10, 9, 9), (16, 16, 4, 4), (31, 17, 1, 1), (5, 1, 2, 1), (1, 9, 1, 4), (13, 8, 13, 3), (8, 13, 3, 13),
      (100, 3, 99, 3), (64, 64, 63, 1),
    ]
  )
  func `scaling agrees with its definition, pixel by pixel`(width: Int, height: Int, toWidth: Int, toHeight: Int) {
    var random = SeededRandom(seed: UInt64(width * 1000 + toWidth))
    for opaque in [true, false] {
      let image = PixelBuffer(random: ImageSize(width: width, height: height), isOpaque: opaque, using: &random)
      let target = ImageSize(width: toWidth, height: toHeight)
      #expect(image.reduced(to: target) == areaMean(image, target))
    }
  }

  @Test(arguments: [(1, 1), (3, 7), (99, 1), (100, 49)])
  func `a flat colour is unchanged, even half transparent`(width: Int, height: Int) {
    for alpha in [255, 128, 1] as [UInt8] {
      let image = PixelBuffer(flat: [200, 17, 3, alpha], ImageSize(width: 100, height: 50))
      let target = ImageSize(width: width, height: height)
      #expect(image.reduced(to: target) == PixelBuffer(flat: [200, 17, 3, alpha], target))
    }
  }

  @Test func `the colour of transparent pixels doesn't bleed`() {
    let image = PixelBuffer(size: ImageSize(width: 2, height: 1), bytes: [255, 0, 0, 255, 0, 255, 0, 0])
    #expect(image.reduced(to: ImageSize(width: 1, height: 1)).bytes == [255, 0, 0, 128])
  }

  @Test func `halves are rounded up`() {
    let image = PixelBuffer(size: ImageSize(width: 2, height: 1), bytes: [0, 1, 2, 255, 1, 2, 3, 255])
    #expect(image.reduced(to: ImageSize(width: 1, height: 1)).bytes == [1, 2, 3, 255])
  }

  @Test func `the sum of all pixels is kept if areas are whole`() {
    var random = SeededRandom(seed: 7)
    let image = PixelBuffer(random: ImageSize(width: 60, height: 40), isOpaque: true, using: &random)
    let small = image.reduced(to: ImageSize(width: 12, height: 10))
    for channel in 0..<3 {
      let before = stride(from: channel, to: image.bytes.count, by: 4).reduce(0) { $0 + Int(image.bytes[$1]) }
      let after = stride(from: channel, to: small.bytes.count, by: 4).reduce(0) { $0 + Int(small.bytes[$1]) }
      // Each pixel represents 20 pixels and has a rounding error of at most a half.
      #expect(abs(after * 20 - before) <= 120 * 10)
    }
  }

  @Test func `areas wider than 32-bit sums scale correctly`() {
    let wide = ImageSize(width: 70_000, height: 2)
    #expect(
      PixelBuffer(flat: [255, 255, 255, 254], wide).reduced(to: ImageSize(width: 1, height: 1)).bytes == [255, 255, 255, 254]
    )
    #expect(
      PixelBuffer(flat: [255, 255, 255, 255], wide).reduced(to: ImageSize(width: 3, height: 1)).bytes
        == Array(repeating: 255, count: 12)
    )
  }

  @Test func `scaling to the same size returns the same image`() {
    var random = SeededRandom(seed: 1)
    let image = PixelBuffer(random: ImageSize(width: 9, height: 4), isOpaque: false, using: &random)
    #expect(image.reduced(to: image.size) == image)
    // Scaling row by row is lossless too, for visible pixels.
    let opaque = PixelBuffer(random: ImageSize(width: 9, height: 4), isOpaque: true, using: &random)
    var scaler = RowScaler(from: opaque.size, to: opaque.size)
    var rows = [UInt8](repeating: 0, count: opaque.bytes.count)
    for row in 0..<4 {
      opaque.bytes[row * 36..<row * 36 + 36].withUnsafeBytes { bytes in
        rows.withUnsafeMutableBufferPointer { scaler.append(bytes, into: $0) }
      }
      #expect(scaler.finishedRows == row + 1)
    }
    #expect(rows == opaque.bytes)
  }
}

/// The expected result of ``RowScaler`` in integers: the share of every source pixel in every target pixel.
private func areaMean(_ image: PixelBuffer, _ target: ImageSize) -> PixelBuffer {
  func shares(_ index: Int, _ from: Int, _ to: Int) -> [(pixel: Int, share: Int)] {
    (0..<from).compactMap { pixel in
      let share = min((index + 1) * from, (pixel + 1) * to) - max(index * from, pixel * to)
      return share > 0 ? (pixel, share) : nil
    }
  }
  var bytes: [UInt8] = []
  for y in 0..<target.height {
    let rows = shares(y, image.size.height, target.height)
    for x in 0..<target.width {
      var (colors, alphas) = ([0, 0, 0], 0)
      for row in rows {
        for column in shares(x, image.size.width, target.width) {
          let start = (row.pixel * image.size.width + column.pixel) * 4
          let weight = row.share * column.share * Int(image.bytes[start + 3])
          for channel in 0..<3 { colors[channel] += Int(image.bytes[start + channel]) * weight }
          alphas += weight
        }
      }
      let area = image.size.pixels
      bytes += colors.map { alphas == 0 ? 0 : UInt8(($0 * 2 + alphas) / (alphas * 2)) }
      bytes.append(UInt8((alphas * 2 + area) / (area * 2)))
    }
  }
  return PixelBuffer(size: target, bytes: bytes)
}
