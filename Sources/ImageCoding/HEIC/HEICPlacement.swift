#if RareFormats
import Base

/// How a stored picture is displayed: cropped, rotated and mirrored (ISO/IEC 23008-12, section 6.5).
struct HEICPlacement {
  /// The displayed size.
  private(set) var size: ImageSize
  /// The displayed position as a function of the stored one, both relative to the centre: the factors of x and y.
  private var x = (1, 0)
  private var y = (0, 1)

  init(size: ImageSize) { self.size = size }

  /// The EXIF orientation with the same effect.
  var orientation: Int {
    switch (x, y) {
    case ((-1, 0), (0, 1)): 2
    case ((-1, 0), (0, -1)): 3
    case ((1, 0), (0, -1)): 4
    case ((0, 1), (1, 0)): 5
    case ((0, -1), (1, 0)): 6
    case ((0, -1), (-1, 0)): 7
    case ((0, 1), (-1, 0)): 8
    default: 1
    }
  }

  /// The size before it is rotated.
  var storedSize: ImageSize { orientation >= 5 ? ImageSize(width: size.height, height: size.width) : size }

  /// Rotates anti-clockwise.
  mutating func rotate(quarters: Int) {
    for _ in 0..<quarters {
      (x, y) = (y, (-x.0, -x.1))
      size = ImageSize(width: size.height, height: size.width)
    }
  }

  /// Exchanges left and right, or else top and bottom.
  mutating func mirror(isHorizontal: Bool) {
    if isHorizontal { x = (-x.0, -x.1) } else { y = (-y.0, -y.1) }
  }

  /// The width, the height, and the offsets of the centre of a clean aperture (ISO/IEC 14496-12, section 12.1.4), in halves of pixels.
  /// Nil if it has larger numbers or other fractions: libheif 1.15 divides by zero for some.
  static func aperture(_ bytes: ByteView, _ box: Range<Int>) -> [Int]? {
    let numbers = (0..<8).map { Int(Int32(truncatingIfNeeded: bytes.bigEndian32(at: box.lowerBound + 4 * $0) ?? 0)) }
    guard box.count >= 32, numbers.allSatisfy({ abs($0) <= longestSide }),
      [1, 3, 5, 7].allSatisfy({ numbers[$0] == 1 || numbers[$0] == 2 })
    else { return nil }
    return [0, 2, 4, 6].map { numbers[$0] * 2 / numbers[$0 + 1] }
  }

  private static let longestSide = 1 << 16

  /// Crops to a clean aperture; returns false if it isn't inside.
  mutating func crop(_ bytes: ByteView, _ box: Range<Int>) -> Bool {
    guard let halves = Self.aperture(bytes, box) else { return false }
    let (width, height) = (halves[0] / 2, halves[1] / 2)
    let left = halves[2] + size.width - width
    let top = halves[3] + size.height - height
    guard width > 0, height > 0, halves[0] % 2 == 0, halves[1] % 2 == 0, left >= 0, top >= 0,
      left <= 2 * (size.width - width), top <= 2 * (size.height - height), max(size.width, size.height) <= Self.longestSide
    else { return false }
    size = ImageSize(width: width, height: height)
    return true
  }
}
#endif
