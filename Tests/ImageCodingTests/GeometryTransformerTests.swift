@testable import ImageCoding
import Base
import TestSupport
import Testing

@Suite("geometric transformers") struct GeometryTransformerTests {
  @Test(
    arguments: [
      (400, 300, .inside, 5250, 3450, 400, 263), (150, 150, .inside, 100, 200, 75, 150), (400, 300, .inside, 40, 30, 40, 30),
      (400, nil, .inside, 1000, 3000, 400, 1200), (nil, 300, .inside, 1000, 3000, 100, 300), (9, 9, .inside, 1000, 1, 9, 1),
      (400, 300, .cover, 40, 40, 400, 300), (50, 20, .cover, 100, 100, 50, 20), (50, nil, .cover, 100, 40, 50, 20),
      (50, 20, .fill, 100, 100, 50, 20), (nil, 20, .fill, 10, 5, 40, 20),
    ] as [(Int?, Int?, ResizingTransformer.Fit, Int, Int, Int, Int)]
  )
  func `resizing returns the size for its fit`(
    width: Int?,
    height: Int?,
    fit: ResizingTransformer.Fit,
    from: Int,
    by: Int,
    toWidth: Int,
    toHeight: Int
  ) throws {
    let transformer = ResizingTransformer(width: width, height: height, fit: fit)
    #expect(transformer.targetSize(of: ImageSize(width: from, height: by)) == ImageSize(width: toWidth, height: toHeight))
  }

  @Test func `an image decoded to the box has the same size`() {
    for (width, height) in [(5250, 3450), (100, 200), (3, 3000), (40, 30), (401, 299)] {
      for transformer in [ResizingTransformer(width: 400, height: 300), .init(width: 150), .init(height: 77)] {
        let size = ImageSize(width: width, height: height)
        let options = DecodingOptions(thumbnail: transformer.decodingBox)
        #expect(transformer.targetSize(of: options.decodedSize(of: size)) == transformer.targetSize(of: size))
      }
    }
    for fit in [ResizingTransformer.Fit.cover, .fill] {
      #expect(ResizingTransformer(width: 4, height: 3, fit: fit).decodingBox == nil)
    }
    let resizing = ResizingTransformer(width: 8)
    #expect(PipelineTransformer([resizing, BlurTransformer(radius: 1)]).decodingBox == resizing.decodingBox)
    #expect(PipelineTransformer([BlurTransformer(radius: 1), resizing]).decodingBox == nil)
    #expect(PipelineTransformer([]).decodingBox == nil)
  }

  @Test func `cover crops both ends equally and keeps the aspect ratio`() throws {
    // Red, green, blue, white columns.
    let image = decoded(4, 1, [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255], [255, 255, 255, 255]])
    let covered = try ResizingTransformer(width: 2, height: 1, fit: .cover).transform(image)
    #expect(covered.pixels.bytes == [0, 255, 0, 255, 0, 0, 255, 255])
    let wide = try ResizingTransformer(width: 2, height: 1, fit: .cover).transform(numbered(4, 4))
    #expect(wide.pixels.bytes == [7, 0, 0, 255, 9, 0, 0, 255])
    let square = try ResizingTransformer(width: 1, height: 1, fit: .cover).transform(image)
    #expect(square.pixels[0, 0] == [0, 255, 0, 255])
  }

  @Test func `enlarging interpolates linearly, and transparent colours don't bleed`() {
    let grey = PixelBuffer(size: ImageSize(width: 2, height: 1), bytes: [0, 0, 0, 255, 100, 200, 40, 255])
    let row = grey.resized(to: ImageSize(width: 4, height: 1))
    #expect(row.bytes == [0, 0, 0, 255, 25, 50, 10, 255, 75, 150, 30, 255, 100, 200, 40, 255])
    let edge = PixelBuffer(size: ImageSize(width: 2, height: 1), bytes: [250, 0, 0, 255, 0, 99, 0, 0])
    let soft = edge.resized(to: ImageSize(width: 4, height: 2))
    #expect(soft[1, 1] == [250, 0, 0, 191] && soft[2, 0] == [250, 0, 0, 64] && soft[3, 0] == [0, 0, 0, 0])
    // Shorter along one side, longer along the other.
    let flat = PixelBuffer(flat: [9, 8, 7, 200], ImageSize(width: 10, height: 2))
    #expect(
      flat.resized(to: ImageSize(width: 3, height: 7)) == PixelBuffer(flat: [9, 8, 7, 200], ImageSize(width: 3, height: 7))
    )
  }

  @Test func `a result with too many pixels is rejected before it is created`() {
    let image = decoded(1, 1000, Array(repeating: [0, 0, 0, 255], count: 1000))
    #expect(throws: TransformError.self) { try ResizingTransformer(width: 65_000, fit: .fill).transform(image) }
    #expect(throws: TransformError.self) { try ResizingTransformer(width: .max, height: .max, fit: .fill).transform(image) }
  }

  @Test func `cropping returns the part inside the image`() throws {
    let image = numbered(4, 3)
    let inner = try CroppingTransformer(PixelRectangle(x: 1, y: 1, width: 2, height: 2)).transform(image)
    #expect(inner.header.size == ImageSize(width: 2, height: 2) && numbers(inner) == [5, 6, 9, 10])
    let clipped = try CroppingTransformer(PixelRectangle(x: -1, y: 2, width: 3, height: .max)).transform(image)
    #expect(clipped.pixels.size == ImageSize(width: 2, height: 1) && numbers(clipped) == [8, 9])
    #expect(throws: TransformError.self) {
      try CroppingTransformer(PixelRectangle(x: 4, y: 0, width: 1, height: 1)).transform(image)
    }
  }

  @Test func `flipping mirrors the image`() {
    let image = numbered(3, 2)
    #expect(numbers(FlippingTransformer(horizontal: true).transform(image)) == [2, 1, 0, 5, 4, 3])
    #expect(numbers(FlippingTransformer(vertical: true).transform(image)) == [3, 4, 5, 0, 1, 2])
    #expect(numbers(FlippingTransformer(horizontal: true, vertical: true).transform(image)) == [5, 4, 3, 2, 1, 0])
    #expect(FlippingTransformer().transform(image) == image)
  }

  @Test func `quarter turns are exact and clockwise`() {
    let image = numbered(3, 2)
    let right = RotationTransformer(degrees: 90).transform(image)
    #expect(numbers(right) == [3, 0, 4, 1, 5, 2] && right.header.size == ImageSize(width: 2, height: 3))
    #expect(numbers(RotationTransformer(degrees: 180).transform(image)) == [5, 4, 3, 2, 1, 0])
    #expect(numbers(RotationTransformer(degrees: -90).transform(image)) == [2, 5, 1, 4, 0, 3])
    #expect(RotationTransformer(degrees: 360).transform(image) == image)
    #expect(!right.header.hasAlpha)
    // With the same size, parts outside are cropped and uncovered parts are transparent.
    let same = RotationTransformer(degrees: 90, fitsSize: false).transform(numbered(4, 2))
    #expect(same.pixels.size == ImageSize(width: 4, height: 2) && same.header.hasAlpha)
    #expect(
      same.pixels[0, 0] == [0, 0, 0, 0] && same.pixels[1, 0][0] == 5 && same.pixels[2, 0][0] == 1 && same.pixels[1, 1][0] == 6
    )
  }

  @Test func `other angles enlarge or crop the image, with transparent corners`() {
    let image = decoded(20, 10, Array(repeating: [10, 200, 30, 255], count: 200))
    let turned = RotationTransformer(degrees: 30).transform(image)
    #expect(turned.pixels.size == ImageSize(width: 23, height: 19) && turned.header.hasAlpha)
    #expect(turned.pixels[11, 9] == [10, 200, 30, 255] && turned.pixels[0, 0][3] == 0 && turned.pixels[22, 18][3] == 0)
    // Rotation adds no colours to those of the image.
    for start in stride(from: 0, to: turned.pixels.bytes.count, by: 4) where turned.pixels.bytes[start + 3] > 0 {
      #expect(turned.pixels.bytes[start..<start + 3].elementsEqual([10, 200, 30]))
    }
    // Clockwise: the right side moves down.
    let half = decoded(2, 1, [[255, 0, 0, 255], [0, 0, 255, 255]])
    let slanted = RotationTransformer(degrees: 45).transform(half)
    #expect(slanted.pixels[0, 0][0] > slanted.pixels[0, 0][2])
    let (last, middle) = (slanted.pixels.size.height - 1, slanted.pixels.size.width - 1)
    #expect(slanted.pixels[middle, last][2] > slanted.pixels[middle, last][0])
    #expect(RotationTransformer(degrees: 30, fitsSize: false).transform(image).pixels.size == image.pixels.size)
  }

  @Test func `the result's header is upright and has its own size`() throws {
    var image = numbered(3, 2)
    image.header.size = ImageSize(width: 2, height: 3)
    image.header.orientation = 6
    let same = try ResizingTransformer(width: 100).transform(image)
    #expect(same.header.orientation == 1 && same.header.size == image.pixels.size && same.pixels == image.pixels)
  }
}

/// An image with those pixels, row by row.
func decoded(_ width: Int, _ height: Int, _ pixels: [[UInt8]]) -> DecodedImage {
  let size = ImageSize(width: width, height: height)
  return DecodedImage(
    header: ImageHeader(format: .png, size: size),
    pixels: PixelBuffer(size: size, bytes: Array(pixels.joined()))
  )
}

/// An opaque image whose pixels have their index as red.
func numbered(_ width: Int, _ height: Int) -> DecodedImage {
  decoded(width, height, (0..<width * height).map { [UInt8($0), 0, 0, 255] })
}

private func numbers(_ image: DecodedImage) -> [UInt8] {
  stride(from: 0, to: image.pixels.bytes.count, by: 4).map { image.pixels.bytes[$0] }
}

@Suite("scale factors in names") struct ImageScaleTests {
  @Test(
    arguments: [
      ("a@2x.png", 2), ("a@3x.png", 3), ("https://example.com/i/a@2x.png", 2), ("https://example.com/i/a%403x.jpg?w=1", 3),
      ("a@2x.min.webp", 2), ("@2x.png", 2),
    ] as [(String, Double)]
  )
  func `@2x and @3x before a dot set the scale, even percent-encoded`(name: String, factor: Double) {
    #expect(ImageScale.factor(inName: name) == factor)
  }

  @Test(
    arguments: [
      "a.png", "", "a@2x", "a@4x.png", "a2x.png", "@2x.d/a.png", "https://example.com/a.png?b=c@2x.png",
      "https://example.com/a.png#@3x.", "user@2x.example.com/a.png",
    ]
  )
  func `all other URLs have a scale of one`(name: String) { #expect(ImageScale.factor(inName: name) == 1) }
}
