/// A colour: 8 bits each, not premultiplied.
public struct RGBAColor: Sendable, Hashable {
  /// 0…255.
  public var red: UInt8
  /// 0…255.
  public var green: UInt8
  /// 0…255.
  public var blue: UInt8
  /// 0, transparent, …255, opaque.
  public var alpha: UInt8

  /// A colour, opaque unless an alpha is given.
  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    self.red = red
    self.green = green
    self.blue = blue
    self.alpha = alpha
  }

  /// Transparent, and black where that counts.
  public static let clear = RGBAColor(red: 0, green: 0, blue: 0, alpha: 0)
  /// Black.
  public static let black = RGBAColor(red: 0, green: 0, blue: 0)
  /// White.
  public static let white = RGBAColor(red: 255, green: 255, blue: 255)

  /// As CSS writes it: `#rrggbbaa`.
  public var hexadecimal: String {
    "#" + [red, green, blue, alpha].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Red, green, blue and alpha, 0…255 each.
  var components: SIMD4<Double> { SIMD4(Double(red), Double(green), Double(blue), Double(alpha)) }
}
