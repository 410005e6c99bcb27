package import Base

/// Access to single pixels of RGBA bytes, unchecked in release builds: callers loop over verified sizes.
extension UnsafeRawBufferPointer {
  /// Red, green, blue and alpha of the pixel at `index`, 0…255 each.
  @inline(__always)
  func pixel(at index: Int) -> SIMD4<Int32> {
    SIMD4(truncatingIfNeeded: loadUnaligned(fromByteOffset: index * 4, as: SIMD4<UInt8>.self))
  }

  /// Red, green and blue multiplied by alpha, 0…65,025 each, and alpha, of the pixel at `index`.
  @inline(__always)
  func premultipliedPixel(at index: Int) -> SIMD4<Int32> {
    let pixel = pixel(at: index)
    return pixel &* SIMD4(pixel.w, pixel.w, pixel.w, 1)
  }

  /// Whether all pixels have an alpha of 255.
  var isOpaque: Bool {
    var all = UInt32.max
    for offset in stride(from: 0, to: count, by: 4) { all &= loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
    return UInt32(littleEndian: all) >> 24 == 255
  }
}

extension UnsafeMutableBufferPointer<UInt8> {
  /// Writes red, green, blue and alpha, 0…255 each, rounded to nearest, halves up.
  @inline(__always)
  func storePixel(_ value: SIMD4<Double>, at index: Int) {
    // Adding such a large number leaves no bits for a fraction, so the result is rounded and its lowest bits are the integer. The
    // small addend corrects halves that a division left slightly too low. Converting to integers would check each for its range.
    let rounded = (value + 0x1p-30) + 0x1p52
    let bytes = SIMD4(
      UInt8(truncatingIfNeeded: rounded.x.bitPattern),
      UInt8(truncatingIfNeeded: rounded.y.bitPattern),
      UInt8(truncatingIfNeeded: rounded.z.bitPattern),
      UInt8(truncatingIfNeeded: rounded.w.bitPattern)
    )
    UnsafeMutableRawBufferPointer(self).storeBytes(of: bytes, toByteOffset: index * 4, as: SIMD4<UInt8>.self)
  }
}

extension SIMD4<Double> {
  /// Converts exactly, since the standard library's conversion of vectors calls a function per lane.
  @inline(__always)
  init(exactly numbers: SIMD4<Int32>) {
    self.init(Double(numbers.x), Double(numbers.y), Double(numbers.z), Double(numbers.w))
  }

  /// Converts premultiplied red, green and blue to straight ones.
  @inline(__always)
  var straightColor: SIMD4<Double> {
    let opacity = w > 0 ? 1 / w : 0
    return self * SIMD4(opacity, opacity, opacity, 1)
  }
}

extension PixelBuffer {
  /// A buffer of `size` whose bytes `fill` must all write unless it throws.
  package init(size: ImageSize, filledBy fill: (UnsafeMutableBufferPointer<UInt8>) throws(ImageError) -> Void) throws(ImageError)
  {
    let length = size.pixels * 4
    var failure: ImageError?
    // The standard library's closure doesn't support typed errors, so pass the error through a variable.
    let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      do throws(ImageError) {
        try fill(UnsafeMutableBufferPointer(rebasing: buffer[..<length]))
        count = length
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    self.init(size: size, bytes: bytes)
  }

  /// A buffer whose rows `fill` writes in order, given each row's number and bytes.
  init(size: ImageSize, rows fill: (_ y: Int, _ row: UnsafeMutableBufferPointer<UInt8>) -> Void) {
    let rowLength = size.width * 4
    let bytes = [UInt8](unsafeUninitializedCapacity: size.pixels * 4) { buffer, count in
      for y in 0..<size.height {
        fill(y, UnsafeMutableBufferPointer(rebasing: buffer[y * rowLength..<(y + 1) * rowLength]))
      }
      count = size.pixels * 4
    }
    self.init(size: size, bytes: bytes)
  }
}

extension DecodingOptions {
  /// The size of the decoded pixels before they are rotated upright.
  func storedSize(of header: ImageHeader) -> ImageSize {
    let shown = decodedSize(of: header.displaySize)
    return header.orientation >= 5 ? ImageSize(width: shown.height, height: shown.width) : shown
  }
}

extension PixelBuffer {
  /// Rotates and mirrors the pixels according to an EXIF orientation: 1 unchanged, 2…4 with the same size, 5…8 with width and
  /// height exchanged.
  package func upright(orientation: Int) -> PixelBuffer {
    guard (2...8).contains(orientation) else { return self }
    let (width, height) = (size.width, size.height)
    let result = orientation >= 5 ? ImageSize(width: height, height: width) : size
    // The pixel at (x, y) of the result comes from `start + x * perColumn + y * perRow`, in pixels.
    let (start, perColumn, perRow) =
      switch orientation {
      case 2: (width - 1, -1, width)
      case 3: (width * height - 1, -1, -width)
      case 4: (width * (height - 1), 1, -width)
      case 5: (0, width, 1)
      case 6: (width * (height - 1), -width, 1)
      case 7: (width * height - 1, -width, -1)
      default: (width - 1, width, -1)
      }
    let turned = bytes.withUnsafeBytes { source in
      [UInt8](unsafeUninitializedCapacity: bytes.count) { target, count in
        let target = UnsafeMutableRawBufferPointer(target)
        var offset = 0
        for y in 0..<result.height {
          var pixel = start + y * perRow
          for _ in 0..<result.width {
            target.storeBytes(
              of: source.loadUnaligned(fromByteOffset: pixel * 4, as: UInt32.self),
              toByteOffset: offset,
              as: UInt32.self
            )
            offset += 4
            pixel += perColumn
          }
        }
        count = offset
      }
    }
    return PixelBuffer(size: result, bytes: turned)
  }
}
