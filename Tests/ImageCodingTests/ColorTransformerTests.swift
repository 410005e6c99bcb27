import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("colour transformers and pipelines") struct ColorTransformerTests {
  @Test func `round corners are transparent, and the rest is unchanged`() {
    let image = decoded(20, 10, Array(repeating: [1, 2, 3, 255], count: 200))
    let round = RoundCornerTransformer(radius: 5).transform(image)
    #expect(round.header.hasAlpha)
    for (x, y) in [(0, 0), (19, 0), (0, 9), (19, 9)] { #expect(round.pixels[x, y][3] == 0) }
    #expect(
      round.pixels[10, 0] == [1, 2, 3, 255] && round.pixels[0, 4] == [1, 2, 3, 248] && round.pixels[5, 5] == [1, 2, 3, 255]
    )
    // On the arc, alpha is partial: hypot(3.5, 3.5) is 4.95 of 5.
    #expect((130...150).contains(round.pixels[1, 1][3]))
    // The area of a circle, to half a percent.
    let disc = RoundCornerTransformer(radius: 1000).transform(decoded(100, 100, Array(repeating: [0, 0, 0, 255], count: 10_000)))
    let area = stride(from: 3, to: 40_000, by: 4).reduce(0.0) { $0 + Double(disc.pixels.bytes[$1]) / 255 }
    #expect(abs(area - 7854) < 40)
  }

  @Test func `only the named corners are rounded`() {
    let image = decoded(9, 9, Array(repeating: [1, 2, 3, 255], count: 81))
    let named: [(RoundCornerTransformer.Corners, Int, Int)] = [
      (.topLeft, 0, 0), (.topRight, 8, 0), (.bottomLeft, 0, 8), (.bottomRight, 8, 8),
    ]
    for (corner, x, y) in named {
      let round = RoundCornerTransformer(radius: 4, corners: corner).transform(image)
      let clear = named.filter { round.pixels[$0.1, $0.2][3] == 0 }
      #expect(clear.count == 1 && clear[0].1 == x && clear[0].2 == y)
    }
    #expect(RoundCornerTransformer(radius: 4, corners: []).transform(image) == image)
  }

  @Test func `a border is drawn inside and over the image`() {
    let image = decoded(9, 7, Array(repeating: [0, 0, 0, 255], count: 63))
    let framed = RoundCornerTransformer(radius: 0, borderWidth: 2, borderColor: .white).transform(image)
    for (x, y) in [(0, 0), (1, 3), (8, 6), (4, 1), (7, 3)] { #expect(framed.pixels[x, y] == [255, 255, 255, 255]) }
    for (x, y) in [(2, 2), (6, 4), (4, 3)] { #expect(framed.pixels[x, y] == [0, 0, 0, 255]) }
    #expect(!framed.header.hasAlpha)
    let half = RGBAColor(red: 255, green: 255, blue: 255, alpha: 128)
    #expect(
      RoundCornerTransformer(radius: 0, borderWidth: 1, borderColor: half).transform(image).pixels[0, 3] == [128, 128, 128, 255]
    )
    // It follows the arc.
    let round = RoundCornerTransformer(radius: 3, borderWidth: 1, borderColor: .white).transform(image)
    #expect(round.pixels[0, 0][3] == 0 && round.pixels[0, 3] == [255, 255, 255, 255] && round.pixels[1, 1][0] > 128)
  }

  @Test(
    arguments: [
      (.sourceIn, 255, [200, 100, 0, 128]), (.sourceIn, 128, [200, 100, 0, 64]), (.sourceAtop, 255, [200, 100, 0, 128]),
      (.sourceAtop, 51, [88, 68, 160, 128]), (.multiply, 255, [47, 24, 0, 128]), (.screen, 255, [213, 136, 200, 128]),
      (.overlay, 255, [94, 47, 145, 128]),
    ] as [(TintTransformer.BlendMode, UInt8, [UInt8])]
  )
  func `tinting follows the definitions of the blend modes`(mode: TintTransformer.BlendMode, alpha: UInt8, expected: [UInt8]) {
    let tint = RGBAColor(red: 200, green: 100, blue: 0, alpha: alpha)
    let tinted = TintTransformer(tint, blendMode: mode).transform(decoded(1, 1, [[60, 60, 200, 128]]))
    #expect(tinted.pixels.bytes == expected)
  }

  @Test func `tinting keeps transparent pixels transparent`() {
    for mode in TintTransformer.BlendMode.allCases {
      #expect(TintTransformer(.white, blendMode: mode).transform(decoded(1, 1, [[60, 60, 200, 0]])).pixels.bytes[3] == 0)
    }
    #expect(TintTransformer(RGBAColor(red: 0, green: 0, blue: 0, alpha: 9)).transform(numbered(1, 1)).header.hasAlpha)
    #expect(!TintTransformer(.black).transform(numbered(1, 1)).header.hasAlpha)
  }

  @Test(arguments: [0.8, 2, 3.3, 5]) func `a blur approximates a Gaussian curve and keeps the sum`(radius: Double) {
    var pixels = Array(repeating: [0, 0, 0, 255] as [UInt8], count: 61 * 61)
    for y in 28...32 { for x in 28...32 { pixels[y * 61 + x] = [255, 255, 255, 255] } }
    let blurred = BlurTransformer(radius: radius).transform(decoded(61, 61, pixels)).pixels
    func gauss(_ x: Int) -> Double { exp(-Double(x * x) / (2 * radius * radius)) / (radius * (2 * Double.pi).squareRoot()) }
    for x in stride(from: 10, through: 50, by: 4) {
      let expected = 255 * (28...32).reduce(0) { $0 + gauss(x - $1) } * (28...32).reduce(0) { $0 + gauss(30 - $1) }
      #expect(abs(Double(blurred[x, 30][0]) - expected) < 6, "at \(x)")
    }
    let sum = stride(from: 0, to: blurred.bytes.count, by: 4).reduce(0) { $0 + Int(blurred.bytes[$1]) }
    #expect(abs(sum - 25 * 255) < 600)
    // The same in both directions.
    #expect(blurred.difference(from: blurred.transposed).largest <= 1)
  }

  @Test func `blurring keeps flat images, even if the blur is wider than they are`() {
    for radius in [0, 0.5, 1, 2, 100] {
      let flat = decoded(5, 3, Array(repeating: [10, 20, 30, 200], count: 15))
      #expect(BlurTransformer(radius: radius).transform(flat) == flat)
    }
    let edge = decoded(2, 1, [[250, 0, 0, 255], [0, 99, 0, 0]])
    #expect(BlurTransformer(radius: 3).transform(edge).pixels[1, 0].prefix(3) == [250, 0, 0])
  }

  @Test func `a pipeline applies its steps in order, and to animations only those that support them`() throws {
    let image = numbered(4, 1)
    let pipeline = PipelineTransformer([
      CroppingTransformer(PixelRectangle(x: 0, y: 0, width: 2, height: 1)), FlippingTransformer(horizontal: true),
    ])
    #expect(try pipeline.transform(image).pixels.bytes == [1, 0, 0, 255, 0, 0, 0, 255])
    #expect(pipeline.transformsAnimated)
    let still = ClosureTransformer(key: "still") { _ in throw TransformError("not for animations") }
    #expect(!PipelineTransformer([still]).transformsAnimated)
    #expect(throws: TransformError.self) { try PipelineTransformer([still]).transform(image) }
    let moving = try PipelineTransformer([still, ResizingTransformer(width: 2)]).transform(animated())
    #expect(moving.pixels.size == ImageSize(width: 2, height: 1))
  }

  @Test func `every built-in transformer treats all frames alike and keeps durations and loops`() throws {
    let all: [any ImageTransformer] = [
      ResizingTransformer(width: 2), CroppingTransformer(PixelRectangle(x: 1, y: 0, width: 2, height: 1)),
      RoundCornerTransformer(radius: 0.5), RotationTransformer(degrees: 90), RotationTransformer(degrees: 20),
      FlippingTransformer(horizontal: true), TintTransformer(.white), BlurTransformer(radius: 1),
    ]
    for transformer in all {
      #expect(transformer.transformsAnimated)
      let before = animated()
      let after = try transformer.transform(before)
      #expect(after.animation?.loopCount == 3)
      #expect(after.animation?.frames.map(\.duration) == [.milliseconds(40), .milliseconds(70)])
      for (frame, old) in zip(try #require(after.animation?.frames), try #require(before.animation?.frames)) {
        let still = DecodedImage(header: before.header, pixels: old.pixels)
        #expect(try transformer.transform(still).pixels == frame.pixels)
      }
      #expect(
        after.pixels == after.animation?.frames[0].pixels && after.header.size == after.pixels.size && after.header.frames == 2
      )
    }
  }
}

/// Two frames of 4 × 1 pixels.
func animated() -> DecodedImage {
  var image = numbered(4, 1)
  image.header.frames = 2
  image.header.isAnimated = true
  let second = decoded(4, 1, [[9, 0, 0, 255], [0, 9, 0, 255], [0, 0, 9, 0], [5, 5, 5, 255]]).pixels
  image.animation = DecodedImage.Animation(
    frames: [.init(pixels: image.pixels, duration: .milliseconds(40)), .init(pixels: second, duration: .milliseconds(70))],
    loopCount: 3
  )
  return image
}

extension PixelBuffer {
  fileprivate var transposed: PixelBuffer {
    PixelBuffer(
      size: ImageSize(width: size.height, height: size.width),
      bytes: (0..<size.width).flatMap { x in (0..<size.height).flatMap { y in self[x, y] } }
    )
  }
}
