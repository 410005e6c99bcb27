import Base

/// Linear interpolation between an image's pixels in both directions, ignoring the colours of transparent ones.
struct BilinearSampling {
  /// A position between two pixels of a row or column.
  struct Position {
    let first: Int
    let second: Int
    /// The weight of the second pixel, 0…1.
    let share: Double

    /// The position in `source` pixels of the centre of pixel `index` of `target`, both covering the same length, clamped to the
    /// outermost centres.
    init(of index: Int, in target: Int, from source: Int) {
      let position = min(max(0, (Double(index) + 0.5) * Double(source) / Double(target) - 0.5), Double(source - 1))
      first = Int(position)
      second = min(first + 1, source - 1)
      share = position - Double(first)
    }

    /// The position at `coordinate`, where pixel centres are at n + 0.5; the pixels may be outside the image.
    init(_ coordinate: Double) {
      let position = (coordinate - 0.5).rounded(.down)
      first = Int(position)
      second = first + 1
      share = coordinate - 0.5 - position
    }
  }

  let pixels: UnsafeRawBufferPointer
  let size: ImageSize

  /// The colour at a position whose four pixels are in the image.
  @inline(__always)
  func color(_ x: Position, _ y: Position) -> SIMD4<Double> {
    let upper = mix(value(x.first, y.first), value(x.second, y.first), x.share)
    let lower = mix(value(x.first, y.second), value(x.second, y.second), x.share)
    return mix(upper, lower, y.share).straightColor
  }

  /// The colour at any position; outside the image all is transparent.
  @inline(__always)
  func colorOrClear(_ x: Position, _ y: Position) -> SIMD4<Double> {
    let upper = mix(valueOrClear(x.first, y.first), valueOrClear(x.second, y.first), x.share)
    let lower = mix(valueOrClear(x.first, y.second), valueOrClear(x.second, y.second), x.share)
    return mix(upper, lower, y.share).straightColor
  }

  @inline(__always)
  private func value(_ x: Int, _ y: Int) -> SIMD4<Double> {
    SIMD4(exactly: pixels.premultipliedPixel(at: y * size.width + x))
  }

  @inline(__always)
  private func valueOrClear(_ x: Int, _ y: Int) -> SIMD4<Double> {
    x >= 0 && x < size.width && y >= 0 && y < size.height ? value(x, y) : .zero
  }

  @inline(__always)
  private func mix(_ first: SIMD4<Double>, _ second: SIMD4<Double>, _ share: Double) -> SIMD4<Double> {
    first + (second - first) * share
  }
}

extension PixelBuffer {
  /// The image in another size: averaged by area along a side that shrinks, interpolated linearly along one that grows.
  func resized(to target: ImageSize) -> PixelBuffer {
    let small = reduced(to: ImageSize(width: min(size.width, target.width), height: min(size.height, target.height)))
    guard small.size != target else { return small }
    let columns = (0..<target.width).map { BilinearSampling.Position(of: $0, in: target.width, from: small.size.width) }
    return small.bytes.withUnsafeBytes { bytes in
      let sampling = BilinearSampling(pixels: bytes, size: small.size)
      return PixelBuffer(size: target) { y, row in
        let y = BilinearSampling.Position(of: y, in: target.height, from: small.size.height)
        for x in columns.indices { row.storePixel(sampling.color(columns[x], y), at: x) }
      }
    }
  }
}
