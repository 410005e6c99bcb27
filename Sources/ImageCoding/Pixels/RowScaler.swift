package import Base

/// Reduces an image as its rows arrive: each pixel becomes the mean of the area that it covers (a box filter).
///
/// A pixel on the border of two areas counts in both by its share. Colours are weighted by opacity, so that those of transparent
/// pixels don't bleed into others. It needs memory for one row of the result; its time is linear in the number of source pixels.
///
/// Along x, a source pixel is `result.width` units wide and a target pixel `source.width`, likewise along y, so all shares are
/// integers. A sum is at most 255 × 255 × the number of source pixels, which a `Double` holds exactly up to 138 billion pixels, so
/// only the last division rounds.
struct RowScaler {
  let source: ImageSize
  let result: ImageSize
  /// The number of written rows of the result.
  private(set) var finishedRows = 0

  /// For each column of the current row: the sums of red, green and blue times alpha, and of alpha.
  private var sums: [SIMD4<Double>]
  /// The height that the current row still lacks, in units of which a source row has `result.height`.
  private var missingHeight: Int

  /// The memory of a scaler to that size.
  static func bytes(to result: ImageSize) -> Int { result.width * MemoryLayout<SIMD4<Double>>.stride }

  /// Creates a scaler from `source` to `result`; traps if the result is larger along either side, or empty.
  init(from source: ImageSize, to result: ImageSize) {
    trap(
      unless: (1...max(1, source.width)).contains(result.width) && (1...max(1, source.height)).contains(result.height),
      "\(source.width)x\(source.height) pixels can't be reduced to \(result.width)x\(result.height)"
    )
    self.source = source
    self.result = result
    sums = Array(repeating: .zero, count: result.width)
    missingHeight = source.height
  }

  /// Adds the next row, RGBA of `source.width` pixels; if it completes a row of the result, writes that to its position in
  /// `pixels`, which holds all rows.
  mutating func append(_ row: UnsafeRawBufferPointer, into pixels: UnsafeMutableBufferPointer<UInt8>) {
    trap(unless: row.count == source.width * 4 && pixels.count == result.pixels * 4, "a row or image has the wrong size")
    trap(unless: finishedRows < result.height, "the image has no more rows")
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
  /// The width of a source pixel in units.
  private let width: Int
  /// The width of a target pixel: whole source pixels, and further units.
  private let wholePixels: Int
  private let furtherUnits: Int
  /// The source pixel where the next target pixel begins, and the units of it that the previous one has used.
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
      // 32 bits hold that many products of 255 × 255.
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
  /// An image of `size` reduced to `target` while its rows arrive: `read` writes those from `y` on, one or `band` at a time.
  init(
    size: ImageSize,
    reducedTo target: ImageSize,
    band: Int = 1,
    read: (_ y: Int, _ rows: UnsafeMutableRawBufferPointer) throws(ImageError) -> Void
  ) throws(ImageError) {
    let length = size.width * 4
    try self.init(size: target) { pixels throws(ImageError) in
      var scaler = target == size ? nil : RowScaler(from: size, to: target)
      let whole = UnsafeMutableRawBufferPointer(pixels)
      let strip = target == size ? whole : .allocate(byteCount: min(band, size.height) * length, alignment: 16)
      defer { if target != size { strip.deallocate() } }
      for y in stride(from: 0, to: size.height, by: band) {
        let start = target == size ? y * length : 0
        let rows = UnsafeMutableRawBufferPointer(rebasing: strip[start..<start + min(band, size.height - y) * length])
        try read(y, rows)
        for row in stride(from: 0, to: scaler == nil ? 0 : rows.count, by: length) {
          scaler?.append(UnsafeRawBufferPointer(rebasing: rows[row..<row + length]), into: pixels)
        }
      }
    }
  }

  /// The image in fewer pixels, each the mean of the area that it covers. See ``RowScaler``, also for sizes that trap.
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
