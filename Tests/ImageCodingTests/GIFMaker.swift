/// Builds a GIF block by block, so that each block can be wrong.
struct GIFMaker {
  /// The file so far; ``finished`` has the trailer too.
  private(set) var bytes: [UInt8]

  /// Red, green, blue and white.
  static let colors: [[UInt8]] = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]

  /// A file with a screen, and a table of four colours unless `colors` is nil.
  init(width: Int, height: Int, background: UInt8 = 0, colors: [[UInt8]]? = Self.colors, version: String = "GIF89a") {
    bytes = Array(version.utf8) + Self.word(width) + Self.word(height)
    bytes += [colors == nil ? 0 : 0x81, background, 0] + (colors ?? []).joined()
  }

  var finished: [UInt8] { bytes + [0x3B] }

  /// A Graphic Control Extension.
  mutating func control(disposal: UInt8 = 0, centiseconds: Int = 0, transparent: UInt8? = nil) {
    bytes += [0x21, 0xF9, 4, disposal << 2 | (transparent == nil ? 0 : 1)] + Self.word(centiseconds) + [transparent ?? 0, 0]
  }

  /// An application extension: its name and sub-blocks.
  mutating func application(_ name: String, _ blocks: [UInt8]...) {
    bytes += [0x21, 0xFF, UInt8(name.utf8.count)] + Array(name.utf8)
    for block in blocks { bytes += [UInt8(block.count)] + block }
    bytes.append(0)
  }

  /// The extension with the loop count.
  mutating func loops(_ count: Int, name: String = "NETSCAPE2.0") { application(name, [1] + Self.word(count)) }

  /// A picture of the indices in `pixels`, in stored row order; all codes have 3 bits.
  mutating func picture(
    _ pixels: [UInt8],
    left: Int = 0,
    top: Int = 0,
    width: Int,
    height: Int? = nil,
    isInterlaced: Bool = false,
    colors: [[UInt8]]? = nil
  ) {
    descriptor(left: left, top: top, width: width, height: height ?? pixels.count / width, isInterlaced: isInterlaced, colors)
    codes(Self.codes(for: pixels))
  }

  /// A picture's descriptor, up to the byte with the code size.
  mutating func descriptor(
    left: Int = 0,
    top: Int = 0,
    width: Int,
    height: Int,
    isInterlaced: Bool = false,
    _ colors: [[UInt8]]? = nil
  ) {
    bytes += [0x2C] + Self.word(left) + Self.word(top) + Self.word(width) + Self.word(height)
    bytes += [(isInterlaced ? 0x40 : 0) | (colors == nil ? 0 : 0x81)] + (colors ?? []).joined()
  }

  /// The code size, and codes of 3 bits in sub-blocks.
  mutating func codes(_ codes: [Int], size: UInt8 = 2) {
    var data: [UInt8] = []
    var (bits, count) = (0, 0)
    for code in codes {
      bits |= code << count
      count += 3
      while count >= 8 {
        data.append(UInt8(truncatingIfNeeded: bits))
        bits >>= 8
        count -= 8
      }
    }
    if count > 0 { data.append(UInt8(bits)) }
    bytes.append(size)
    for start in stride(from: 0, to: data.count, by: 255) {
      let block = data[start..<min(start + 255, data.count)]
      bytes += [UInt8(block.count)] + block
    }
    bytes.append(0)
  }

  mutating func append(_ more: [UInt8]) { bytes += more }

  static let (clear, end) = (4, 5)

  /// A code for each pixel. The table is cleared after every two codes, before they become longer.
  static func codes(for pixels: [UInt8]) -> [Int] {
    var codes: [Int] = []
    for (index, pixel) in pixels.enumerated() {
      if index.isMultiple(of: 2) { codes.append(clear) }
      codes.append(Int(pixel))
    }
    return codes + [end]
  }

  private static func word(_ number: Int) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }
}
