package import ImagePrimitives

/// Reduces an image to fewer pixels while its rows arrive: each pixel becomes the mean of the area that it covers (a box filter).
///
/// A pixel on the border of two areas counts in both by its share. Colours count as much as they are opaque, so that those of transparent pixels do
/// not bleed into others. Memory is that of one row of the result; the work is linear in the pixels that come in.
///
/// Along x, a source pixel is `result.width` units wide and a target pixel `source.width`, and so along y: all shares are whole numbers. A sum is at
/// most 255 × 255 × the pixels of the source, which a `Double` holds exactly up to 138 billion pixels, so that only the last division rounds.
struct RowScaler {
  /// The size of what comes in.
  let source: ImageSize
  /// The size of what goes out.
  let result: ImageSize
  /// Rows of the result that are written.
  private(set) var finishedRows = 0

  /// Of each column of the row that is being made: the sums of red, green and blue times alpha, and of alpha.
  private var sums: [SIMD4<Double>]
  /// How much of that row is still to come, in units of which a source row has `result.height`.
  private var missingHeight: Int

  /// A scaler that makes `result` out of `source`; a result that is larger along either side, or empty, is a programmer's error and traps.
  init(from source: ImageSize, to result: ImageSize) {
    trap(
      unless: (1...max(1, source.width)).contains(result.width) && (1...max(1, source.height)).contains(result.height),
      "\(source.width)x\(source.height) pixels cannot be reduced to \(result.width)x\(result.height)"
    )
    self.source = source
    self.result = result
    sums = Array(repeating: .zero, count: result.width)
    missingHeight = source.height
  }

  /// Takes the next row, RGBA of `source.width` pixels, and writes the row of the result that it completes, if any, to its place in `pixels`, which has
  /// all rows of the result.
  mutating func append(_ row: UnsafeRawBufferPointer, into pixels: UnsafeMutableBufferPointer<UInt8>) {
    trap(unless: row.count == source.width * 4 && pixels.count == result.pixels * 4, "a row or an image of another size")
    trap(unless: finishedRows < result.height, "a row more than the image has")
    let isOpaque = row.isOpaque
    let height = result.height
    if missingHeight > height {
      add(row, isOpaque: isOpaque, height: height)
      missingHeight -= height
    } else {
      let start = finishedRows * result.width * 4
      let target = UnsafeMutableBufferPointer(rebasing: pixels[start..<start + result.width * 4])
      finish(target, with: row, isOpaque: isOpaque, height: missingHeight, nextHeight: height - missingHeight)
      finishedRows += 1
      missingHeight += source.height - height
    }
  }

  private mutating func add(_ row: UnsafeRawBufferPointer, isOpaque: Bool, height: Int) {
    let height = Double(height)
    var columns = ColumnSums(row, isOpaque: isOpaque, width: result.width)
    sums.withUnsafeMutableBufferPointer { sums in
      for index in sums.indices { sums[index] += columns.next() * height }
    }
  }

  private mutating func finish(
    _ target: UnsafeMutableBufferPointer<UInt8>,
    with row: UnsafeRawBufferPointer,
    isOpaque: Bool,
    height: Int,
    nextHeight: Int
  ) {
    let (height, nextHeight) = (Double(height), Double(nextHeight))
    let share = 1 / (Double(source.width) * Double(source.height))
    var columns = ColumnSums(row, isOpaque: isOpaque, width: result.width)
    sums.withUnsafeMutableBufferPointer { sums in
      for index in sums.indices {
        let column = columns.next()
        let sum = sums[index] + column * height
        let opacity = sum.w > 0 ? 1 / sum.w : 0
        target.storePixel(sum * SIMD4(opacity, opacity, opacity, share), at: index)
        sums[index] = column * nextHeight
      }
    }
  }
}

/// The sums over each target column of one row, from left to right.
private struct ColumnSums {
  private let row: UnsafeRawBufferPointer
  private let isOpaque: Bool
  /// Units of a source pixel.
  private let width: Int
  /// Source pixels in a target pixel: whole ones, and units beyond.
  private let wholePixels: Int
  private let furtherUnits: Int
  /// The source pixel at which the next target pixel begins, and how many of its units went to the one before.
  private var pixel = 0
  private var spentUnits = 0

  init(_ row: UnsafeRawBufferPointer, isOpaque: Bool, width: Int) {
    self.row = row
    self.isOpaque = isOpaque
    self.width = width
    (wholePixels, furtherUnits) = (row.count / 4).quotientAndRemainder(dividingBy: width)
  }

  /// Red, green and blue times alpha, and alpha, of the next target pixel.
  @inline(__always)
  mutating func next() -> SIMD4<Double> {
    var end = pixel + wholePixels
    var endUnits = spentUnits + furtherUnits
    if endUnits >= width {
      endUnits -= width
      end += 1
    }
    var sum = isOpaque ? opaqueSum(to: end, endUnits) : blendedSum(to: end, endUnits)
    if isOpaque { sum *= SIMD4(255, 255, 255, 1) }
    pixel = end
    spentUnits = endUnits
    return sum
  }

  @inline(__always)
  private func opaqueSum(to end: Int, _ endUnits: Int) -> SIMD4<Double> {
    sum(to: end, endUnits) { row.pixel(at: $0) }
  }

  @inline(__always)
  private func blendedSum(to end: Int, _ endUnits: Int) -> SIMD4<Double> {
    sum(to: end, endUnits) { row.premultipliedPixel(at: $0) }
  }

  @inline(__always)
  private func sum(to end: Int, _ endUnits: Int, of value: (Int) -> SIMD4<Int32>) -> SIMD4<Double> {
    var sum = SIMD4<Double>(exactly: value(pixel)) * Double(width - spentUnits)
    var next = pixel + 1
    while next < end {
      // So many times 255 × 255 fit 32 bits.
      let stop = min(end, next + 1 << 15)
      var part = SIMD4<Int32>.zero
      while next < stop {
        part &+= value(next)
        next += 1
      }
      sum += SIMD4<Double>(exactly: part) * Double(width)
    }
    if endUnits > 0 { sum += SIMD4<Double>(exactly: value(end)) * Double(endUnits) }
    return sum
  }
}

extension PixelBuffer {
  /// The image in fewer pixels, each the mean of the area that it covers; itself where the size is the same. See ``RowScaler``, also for sizes that trap.
  package func reduced(to target: ImageSize) -> PixelBuffer {
    guard target != size else { return self }
    var scaler = RowScaler(from: size, to: target)
    let rowLength = size.width * 4
    let reduced = bytes.withUnsafeBytes { source in
      [UInt8](unsafeUninitializedCapacity: target.pixels * 4) { buffer, count in
        let pixels = UnsafeMutableBufferPointer(rebasing: buffer[..<(target.pixels * 4)])
        for start in stride(from: 0, to: source.count, by: rowLength) {
          scaler.append(UnsafeRawBufferPointer(rebasing: source[start..<start + rowLength]), into: pixels)
        }
        count = target.pixels * 4
      }
    }
    return PixelBuffer(size: target, bytes: reduced)
  }
}
