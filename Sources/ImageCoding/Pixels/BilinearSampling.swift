import ImagePrimitives

/// Colours between the pixels of an image, interpolated linearly in both directions; transparent pixels' colours do not count.
struct BilinearSampling {
  /// A position between two pixels of a row, or of a column.
  struct Position {
    /// The pixel before it.
    let first: Int
    /// The pixel behind it.
    let second: Int
    /// How much the second counts, 0…1.
    let share: Double

    /// The position of the middle of pixel `index` of `target` in `source` pixels, where both cover the same; beyond the outermost middles the colour stays.
    init(of index: Int, in target: Int, from source: Int) {
      let position = min(max(0, (Double(index) + 0.5) * Double(source) / Double(target) - 0.5), Double(source - 1))
      first = Int(position)
      second = min(first + 1, source - 1)
      share = position - Double(first)
    }

    /// The position `coordinate`, where a pixel's middle is at its number and a half; there may be no pixels at either side.
    init(_ coordinate: Double) {
      let position = (coordinate - 0.5).rounded(.down)
      first = Int(position)
      second = first + 1
      share = coordinate - 0.5 - position
    }
  }

  let pixels: UnsafeRawBufferPointer
  let size: ImageSize

  /// The colour at a position whose four pixels are there.
  @inline(__always)
  func color(_ x: Position, _ y: Position) -> SIMD4<Double> {
    let upper = mix(value(x.first, y.first), value(x.second, y.first), x.share)
    let lower = mix(value(x.first, y.second), value(x.second, y.second), x.share)
    return mix(upper, lower, y.share).straightColor
  }

  /// The colour at any position: outside, all is transparent.
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
  /// The image in any size: along a side that gets shorter, means of areas; along one that gets longer, interpolated linearly; itself where the size is the same.
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
