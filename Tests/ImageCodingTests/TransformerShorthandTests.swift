import ImageCoding
import Base
import TestSupport
import Testing

@Suite("shorthands for transformers") struct TransformerShorthandTests {
  private static let red = RGBAColor(red: 255, green: 0, blue: 0, alpha: 128)

  private static let picture: DecodedImage = {
    var random = SeededRandom(seed: 1)
    let size = ImageSize(width: 5, height: 4)
    let pixels = PixelBuffer(random: size, isOpaque: false, using: &random)
    return DecodedImage(header: ImageHeader(format: .png, size: size, hasAlpha: true), pixels: pixels)
  }()

  /// Shorthands and the transformers that they stand for.
  private static let pairs: [(any ImageTransformer, any ImageTransformer)] = [
    (.resize(width: 3), ResizingTransformer(width: 3)),
    (.resize(height: 2), ResizingTransformer(height: 2)),
    (.resize(width: 2, height: 2, fit: .cover), ResizingTransformer(width: 2, height: 2, fit: .cover)),
    (.resize(to: ImageSize(width: 2, height: 3)), ResizingTransformer(width: 2, height: 3)),
    (.resize(to: ImageSize(width: 2, height: 3), fit: .fill), ResizingTransformer(width: 2, height: 3, fit: .fill)),
    (.crop(x: 1, y: 2, width: 3, height: 1), CroppingTransformer(PixelRectangle(x: 1, y: 2, width: 3, height: 1))),
    (.circle, CircleTransformer()),
    (.roundCorners(2), RoundCornerTransformer(radius: 2)),
    (
      .roundCorners(2, corners: .topLeft, borderWidth: 1, borderColor: red),
      RoundCornerTransformer(radius: 2, corners: .topLeft, borderWidth: 1, borderColor: red)
    ),
    (.rotate(degrees: 90), RotationTransformer(degrees: 90)),
    (.rotate(degrees: 30, fitsSize: false), RotationTransformer(degrees: 30, fitsSize: false)),
    (.flip(horizontal: true), FlippingTransformer(horizontal: true)),
    (.flip(vertical: true), FlippingTransformer(vertical: true)),
    (.blur(radius: 1.5), BlurTransformer(radius: 1.5)),
    (.tint(red), TintTransformer(red)),
    (.tint(red, blendMode: .multiply), TintTransformer(red, blendMode: .multiply)),
    (
      .pipeline([.resize(width: 4), .flip(horizontal: true)]),
      PipelineTransformer([ResizingTransformer(width: 4), FlippingTransformer(horizontal: true)])
    ),
  ]

  @Test func `a shorthand has the key and the pixels of its transformer`() throws {
    for (short, long) in Self.pairs {
      #expect(short.key == long.key)
      let result = try short.transform(Self.picture)
      #expect(try result == long.transform(Self.picture) && result.pixels != Self.picture.pixels, "\(long.key)")
    }
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
