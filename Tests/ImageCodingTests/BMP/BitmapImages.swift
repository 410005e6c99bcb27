import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

/// Builds a BMP file, or the bitmap of an icon, part by part.
struct BMPMaker {
  var width = 2
  var height = 2
  var bits = 24
  var compression = 0
  /// The length of the header, which has zeros or ``masks`` after its first 40 bytes.
  var headerLength = 40
  var colors = 0
  var masks: [UInt32] = []
  /// The palette, and whatever follows it.
  var data: [UInt8] = []
  /// The offset of the pixels; nil: after the header and masks.
  var pixels: Int?

  /// The bitmap without a file header.
  var bitmap: [UInt8] {
    var header = Self.number(headerLength) + Self.number(width) + Self.number(height) + [1, 0, UInt8(bits), 0]
    header +=
      Self.number(compression) + Self.number(0) + Self.number(2835) + Self.number(2835) + Self.number(colors) + Self.number(0)
    header += masks.flatMap { Self.number(Int($0)) }
    header += [UInt8](repeating: 0, count: max(0, headerLength - header.count))
    return (headerLength < 40 ? Array(header[..<headerLength]) : header) + data
  }

  /// The file.
  var file: [UInt8] {
    let offset = pixels ?? 14 + max(headerLength, 40 + masks.count * 4)
    return Array("BM".utf8) + Self.number(0) + Self.number(0) + Self.number(offset) + bitmap
  }

  /// Four bytes, the lowest first.
  static func number(_ value: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: value).littleEndian, Array.init)
  }
}

/// Builds an icon of pictures.
enum ICOMaker {
  /// A picture and its entry in the directory: side, bytes and offset, by default the right ones.
  struct Picture {
    var bytes: [UInt8]
    var side: UInt8
    var length: Int?
    var offset: Int?
  }

  static func file(_ pictures: [Picture], type: UInt8 = 1) -> [UInt8] {
    var file: [UInt8] = [0, 0, type, 0, UInt8(pictures.count & 255), UInt8(pictures.count >> 8)]
    var offset = 6 + 16 * pictures.count
    for picture in pictures {
      file += [picture.side, picture.side, 0, 0, 1, 0, 32, 0]
      file += BMPMaker.number(picture.length ?? picture.bytes.count) + BMPMaker.number(picture.offset ?? offset)
      offset += picture.bytes.count
    }
    return file + pictures.flatMap(\.bytes)
  }

  /// A bitmap of one colour and its mask: blue, green, red and the byte for alpha.
  static func bitmap(side: Int, bits: Int = 32, _ color: [UInt8] = [10, 20, 30, 255], mask: UInt8? = 0) -> [UInt8] {
    let pixels = (0..<side * side).flatMap { _ in color.prefix(bits / 8) }
    let rows = mask.map { [UInt8](repeating: $0, count: (side + 31) / 32 * 4 * side) } ?? []
    return BMPMaker(width: side, height: side * 2, bits: bits, data: pixels + rows).bitmap
  }

  static func png(side: Int) -> [UInt8] { PNGBuilder(width: side, height: side).file(grey: 7) }
}
