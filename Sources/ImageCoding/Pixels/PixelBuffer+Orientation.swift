package import Base

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
