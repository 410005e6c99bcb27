import Platform
import Base

/// The size of an SVG by the attributes of its root element.
struct SVGSize {
  /// The size of a replaced element without intrinsic dimensions (CSS 2.2, section 10.3.2).
  private static let fallback = (width: 300.0, height: 150.0)
  private static let longestSide = Double(Int32.max)

  /// In CSS pixels; nil if missing or relative.
  private var width, height: Double?
  /// Width and height of the view box.
  private var box: (width: Double, height: Double)?

  /// Reads an attribute without namespace.
  mutating func read(_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>) {
    if name.equals("width") {
      width = Self.length(value.beginning)
    } else if name.equals("height") {
      height = Self.length(value.beginning)
    } else if name.equals("viewBox") {
      box = Self.box(value.beginning)
    }
  }

  /// Whether a side is 0, so that nothing is shown (SVG 2, section 8.9).
  var isEmpty: Bool { width == 0 || height == 0 }

  /// The size in pixels, each side rounded up to at least 1, and at most 2^31 - 1.
  var pixels: ImageSize {
    let (width, height) =
      switch (self.width, self.height) {
      case (let width?, let height?): (width, height)
      case (let width?, nil): (width, box.map { width * $0.height / $0.width } ?? Self.fallback.height)
      case (nil, let height?): (box.map { height * $0.width / $0.height } ?? Self.fallback.width, height)
      case (nil, nil): box ?? Self.fallback
      }
    return ImageSize(width: Self.pixels(width), height: Self.pixels(height))
  }

  /// Conversions of units leave tiny fractions, which don't count.
  private static func pixels(_ length: Double) -> Int { Int(max(1, min((length - 0.001).rounded(.up), longestSide))) }

  /// A length in pixels (CSS Values 4, sections 6.1 and 6.2, with a font size of 16 px); nil if it is relative, negative or invalid.
  private static func length(_ text: [CChar]) -> Double? {
    var numbers = SVGNumbers(text)
    guard let number = numbers.next(), number >= 0 else { return nil }
    let scale: Double? =
      switch numbers.unit {
      case "", "px": 1
      case "in": 96
      case "cm": 96 / 2.54
      case "mm": 96 / 25.4
      case "q": 96 / 101.6
      case "pt": 96.0 / 72
      case "pc", "em", "rem": 16
      case "ex": 8
      default: nil
      }
    return scale.map { number * $0 }
  }

  private static func box(_ text: [CChar]) -> (width: Double, height: Double)? {
    var numbers = SVGNumbers(text)
    guard numbers.next() != nil, numbers.next() != nil, let width = numbers.next(), let height = numbers.next(),
      numbers.unit.isEmpty, width > 0, height > 0
    else {
      return nil
    }
    return (width, height)
  }
}

/// Reads numbers separated by white space or commas (CSS Syntax 3, section 4.3.12).
private struct SVGNumbers {
  /// A text that ends with a zero.
  private let text: [CChar]
  private var offset = 0

  init(_ text: [CChar]) { self.text = text }

  /// The text behind the last number, in lower case without white space at its end.
  var unit: String {
    var unit = text[offset...].map { UInt8(bitPattern: $0) }.prefix { $0 != 0 }.prefix(16)
    while unit.last?.isASCIIWhitespace == true { unit.removeLast() }
    return String(decoding: unit, as: UTF8.self).lowercased()
  }

  mutating func next() -> Double? {
    func byte(_ index: Int) -> UInt8 { index < text.count ? UInt8(bitPattern: text[index]) : 0 }
    while byte(offset).isASCIIWhitespace || byte(offset) == UInt8(ascii: ",") { offset += 1 }
    let start = offset + (byte(offset) == UInt8(ascii: "+") || byte(offset) == UInt8(ascii: "-") ? 1 : 0)
    // strtod also knows hexadecimal numbers, infinity and NaN.
    let isDecimal = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte(start)) || byte(start) == UInt8(ascii: ".")
    guard isDecimal, byte(start) != UInt8(ascii: "0") || byte(start + 1) | 0x20 != UInt8(ascii: "x") else { return nil }
    return text.withUnsafeBufferPointer { text in
      var end: UnsafeMutablePointer<CChar>?
      let number = strtod(text.baseAddress! + offset, &end)
      guard let end, end > UnsafeMutablePointer(mutating: text.baseAddress! + offset), number.isFinite else { return nil }
      offset = text.baseAddress!.distance(to: end)
      return number
    }
  }
}

extension UnsafePointer<CChar> {
  /// The first bytes of a text whose further ones don't matter.
  fileprivate var beginning: [CChar] { Array(UnsafeBufferPointer(start: self, count: strnlen(self, 1024))) + [0] }

  /// Whether the text equals `other`.
  func equals(_ other: StaticString) -> Bool {
    strcmp(self, UnsafeRawPointer(other.utf8Start).assumingMemoryBound(to: CChar.self)) == 0
  }

  /// The text after `prefix`; nil if it doesn't begin with that.
  func dropping(_ prefix: StaticString) -> UnsafePointer<CChar>? {
    let count = prefix.utf8CodeUnitCount
    let isPrefixed = strncmp(self, UnsafeRawPointer(prefix.utf8Start).assumingMemoryBound(to: CChar.self), count) == 0
    return isPrefixed ? self + count : nil
  }
}
