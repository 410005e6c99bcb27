import ImageCoding
import Base
import TestSupport
import Testing

@Suite("shorthands for transformers") struct TransformerShorthandTests {
  /// A shorthand and the transformer that it stands for.
  struct Pair: CustomTestStringConvertible, Sendable {
    let short: any ImageTransformer
    let long: any ImageTransformer

    init(_ short: any ImageTransformer, _ long: any ImageTransformer) {
      self.short = short
      self.long = long
    }

    var testDescription: String { long.key }
  }

  private static let red = RGBAColor(red: 255, green: 0, blue: 0, alpha: 128)

  private static let picture: DecodedImage = {
    var random = SeededRandom(seed: 1)
    let size = ImageSize(width: 5, height: 4)
    let pixels = PixelBuffer(random: size, isOpaque: false, using: &random)
    return DecodedImage(header: ImageHeader(format: .png, size: size, hasAlpha: true), pixels: pixels)
  }()

  private static let pairs: [Pair] = [
    Pair(.resize(width: 3), ResizingTransformer(width: 3)),
    Pair(.resize(height: 2), ResizingTransformer(height: 2)),
    Pair(.resize(width: 2, height: 2, fit: .cover), ResizingTransformer(width: 2, height: 2, fit: .cover)),
    Pair(.resize(to: ImageSize(width: 2, height: 3)), ResizingTransformer(width: 2, height: 3)),
    Pair(.resize(to: ImageSize(width: 2, height: 3), fit: .fill), ResizingTransformer(width: 2, height: 3, fit: .fill)),
    Pair(.crop(x: 1, y: 2, width: 3, height: 1), CroppingTransformer(PixelRectangle(x: 1, y: 2, width: 3, height: 1))),
    Pair(.circle, CircleTransformer()),
    Pair(.roundCorners(2), RoundCornerTransformer(radius: 2)),
    Pair(
      .roundCorners(2, corners: .topLeft, borderWidth: 1, borderColor: red),
      RoundCornerTransformer(radius: 2, corners: .topLeft, borderWidth: 1, borderColor: red)
    ),
    Pair(.rotate(degrees: 90), RotationTransformer(degrees: 90)),
    Pair(.rotate(degrees: 30, fitsSize: false), RotationTransformer(degrees: 30, fitsSize: false)),
    Pair(.flip(horizontal: true), FlippingTransformer(horizontal: true)),
    Pair(.flip(vertical: true), FlippingTransformer(vertical: true)),
    Pair(.blur(radius: 1.5), BlurTransformer(radius: 1.5)),
    Pair(.tint(red), TintTransformer(red)),
    Pair(.tint(red, blendMode: .multiply), TintTransformer(red, blendMode: .multiply)),
    Pair(
      .pipeline([.resize(width: 4), .flip(horizontal: true)]),
      PipelineTransformer([ResizingTransformer(width: 4), FlippingTransformer(horizontal: true)])
    ),
  ]

  @Test(arguments: pairs) func `a shorthand has the key and the pixels of its transformer`(pair: Pair) throws {
    let image = Self.picture
    #expect(pair.short.key == pair.long.key)
    let result = try pair.short.transform(image)
    #expect(try result == pair.long.transform(image))
    #expect(result.pixels != image.pixels)
  }

  @Test func `a circle is the centred square with fully rounded corners`() throws {
    let wide = numbered(9, 5)
    let expected = try PipelineTransformer([
      CroppingTransformer(PixelRectangle(x: 2, y: 0, width: 5, height: 5)), RoundCornerTransformer(radius: 2.5),
    ]).transform(wide)
    let circle = CircleTransformer()
    #expect(circle.transform(wide) == expected)
    #expect(expected.pixels.bytes[3] < 64 && expected.pixels.bytes[(2 * 5 + 2) * 4 + 3] == 255)
    #expect(expected.header.hasAlpha)
    for size in [ImageSize(width: 9, height: 5), ImageSize(width: 4, height: 7), ImageSize(width: 1, height: 1)] {
      let side = min(size.width, size.height)
      #expect(circle.outputSize(of: size) == ImageSize(width: side, height: side))
      #expect(circle.transform(numbered(size.width, size.height)).pixels.size == circle.outputSize(of: size))
    }
  }

  @Test func `a circle transforms every frame of an animation`() {
    let result = CircleTransformer().transform(animated())
    #expect(CircleTransformer().transformsAnimated)
    #expect(result.animation?.frames.allSatisfy { $0.pixels.size == result.pixels.size } == true)
    #expect(result.pixels.size.width == result.pixels.size.height)
  }
}
