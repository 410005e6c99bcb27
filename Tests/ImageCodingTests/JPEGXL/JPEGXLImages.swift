import ImageCoding
import Base

/// Writes the fields of a codestream (ISO/IEC 18181-1, annex B).
struct JPEGXLWriter {
  private(set) var bytes: [UInt8] = [0xFF, 0x0A]
  private var free = 0

  mutating func bits(_ value: Int, _ count: Int) {
    for index in 0..<count {
      if free == 0 {
        bytes.append(0)
        free = 8
      }
      bytes[bytes.count - 1] |= UInt8(value >> index & 1) << UInt8(8 - free)
      free -= 1
    }
  }

  mutating func align() { free = 0 }

  /// The size in the longest form.
  mutating func size(_ width: Int, _ height: Int) {
    bits(0, 1)
    side(height)
    bits(0, 3)
    side(width)
  }

  private mutating func side(_ value: Int) {
    bits(3, 2)
    bits(value - 1, 30)
  }

  /// An image in XYB, 8 bits, sRGB, without alpha, and its first frame's position.
  mutating func metadata(isAnimated: Bool) {
    if isAnimated {
      // Not default; extra fields: upright, no intrinsic size, no preview, an animation of 100 ticks/s, forever, no timecodes.
      for (value, count) in [(0, 1), (1, 1), (0, 3), (0, 1), (0, 1), (1, 1), (0, 2), (0, 2), (0, 2), (0, 1)] {
        bits(value, count)
      }
      // 8 bits, 16-bit buffers, no extra channels, XYB, sRGB, default tone mapping, no extensions.
      for (value, count) in [(0, 1), (0, 2), (1, 1), (0, 2), (1, 1), (1, 1), (1, 1), (0, 2)] { bits(value, count) }
    } else {
      bits(1, 1)
    }
    // Default transform data.
    bits(1, 1)
    align()
  }

  /// A modular frame with groups of 1024 pixels; its sections are empty.
  mutating func reference(_ width: Int, _ height: Int) {
    // Not default, a reference, modular, no flags, no upsampling, the largest groups, a crop.
    for (value, count) in [(0, 1), (2, 2), (1, 1), (0, 2), (0, 2), (3, 2), (1, 1)] { bits(value, count) }
    for side in [width, height] {
      bits(3, 2)
      bits(side - 18_688, 30)
    }
    // Slot 0, before the colour transform, no name, default filters, no extensions.
    for (value, count) in [(0, 2), (1, 1), (0, 2), (1, 1), (0, 2)] { bits(value, count) }
    let groups = ((width + 1023) / 1024) * ((height + 1023) / 1024)
    let blocks = ((width + 8191) / 8192) * ((height + 8191) / 8192)
    contents(2 + blocks + groups)
  }

  /// A frame of the image's size that is shown for one tick, with one empty section.
  mutating func frame(isLast: Bool, flags: Int = 0) {
    // Not default, regular, modular.
    for (value, count) in [(0, 1), (0, 2), (1, 1)] { bits(value, count) }
    // In a number of 64 bits, 1 to 16 follow a selector of 1, and 17 and more one of 2.
    if flags == 0 { bits(0, 2) } else { bits(1, 2); bits(flags - 1, 4) }
    // No upsampling, groups of 256 pixels, one pass, no crop, replacing, one tick.
    for (value, count) in [(0, 2), (1, 2), (0, 2), (0, 1), (0, 2), (1, 2)] { bits(value, count) }
    bits(isLast ? 1 : 0, 1)
    // Slot 0 if it isn't the last, no name, default filters, no extensions.
    if !isLast { bits(0, 2) }
    for (value, count) in [(0, 2), (1, 1), (0, 2)] { bits(value, count) }
    contents(1)
  }

  private mutating func contents(_ sections: Int) {
    bits(0, 1)
    align()
    for _ in 0..<sections { bits(0, 12) }
    align()
  }
}

extension [UInt8] {
  static var containerStart: [UInt8] {
    [0x0D, 0x0A, 0x87, 0x0A].boxed("JXL ") + Array("jxl \0\0\0\0jxl ".utf8).boxed("ftyp")
  }
}
