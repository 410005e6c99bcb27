package import Base

/// Tints images (SDWebImage's `SDImageTintTransformer`).
///
/// The colour is composited on the image as the backdrop (Compositing and Blending Level 1, W3C). Key: `tint(#RRGGBBAA,MODE)`.
package struct TintTransformer: ImageTransformer {
  package typealias BlendMode = ImageTransform.BlendMode

  /// The colour; its alpha determines its opacity.
  package let color: RGBAColor
  /// How it is combined with the image.
  package let blendMode: BlendMode

  package init(_ color: RGBAColor, blendMode: BlendMode = .sourceIn) {
    self.color = color
    self.blendMode = blendMode
  }

  package var key: String { "tint(\(color.hexadecimal),\(blendMode.rawValue))" }
  package var transformsAnimated: Bool { true }
  package func outputSize(of size: ImageSize) -> ImageSize? { size }

  package func transform(_ image: DecodedImage) -> DecodedImage {
    image.mapPixels(addsAlpha: blendMode == .sourceIn && color.alpha < 255, tinted)
  }

  private func tinted(_ image: PixelBuffer) -> PixelBuffer {
    let tint = color.components
    let opacity = tint.w / 255
    return image.bytes.withUnsafeBytes { bytes in
      PixelBuffer(size: image.size) { y, row in
        for x in 0..<image.size.width {
          var pixel = SIMD4<Double>(exactly: bytes.pixel(at: y * image.size.width + x))
          let alpha = pixel.w
          if blendMode == .sourceIn {
            pixel = tint
            pixel.w = alpha * opacity
          } else {
            pixel += (blended(tint, over: pixel) - pixel) * opacity
            pixel.w = alpha
          }
          row.storePixel(pixel, at: x)
        }
      }
    }
  }

  private func blended(_ tint: SIMD4<Double>, over pixel: SIMD4<Double>) -> SIMD4<Double> {
    let product = pixel * tint / 255
    let screened = pixel + tint - product
    return switch blendMode {
    case .sourceIn, .sourceAtop: tint
    case .multiply: product
    case .screen: screened
    case .overlay: (2 * product).replacing(with: 2 * screened - 255, where: pixel .> 127.5)
    }
  }
}

/// A colour with 8 bits per component, not premultiplied.
public struct RGBAColor: Sendable, Hashable {
  /// 0…255.
  public var red: UInt8
  /// 0…255.
  public var green: UInt8
  /// 0…255.
  public var blue: UInt8
  /// 0, transparent, …255, opaque.
  public var alpha: UInt8

  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    self.red = red
    self.green = green
    self.blue = blue
    self.alpha = alpha
  }

  /// Transparent black.
  public static let clear = RGBAColor(red: 0, green: 0, blue: 0, alpha: 0)
  public static let black = RGBAColor(red: 0, green: 0, blue: 0)
  public static let white = RGBAColor(red: 255, green: 255, blue: 255)

  /// The CSS notation: `#rrggbbaa`.
  public var hexadecimal: String {
    "#" + [red, green, blue, alpha].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Red, green, blue and alpha, 0…255 each.
  var components: SIMD4<Double> { SIMD4(Double(red), Double(green), Double(blue), Double(alpha)) }
}
