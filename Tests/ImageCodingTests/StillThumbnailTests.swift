import ImageCoding
import Base
import TestSupport
import Testing

@Suite("thumbnails of JPEG and PNG") struct StillThumbnailTests {
  private static func decode(
    _ bytes: [UInt8],
    _ options: DecodingOptions,
    limits: DecodingLimits = DecodingLimits()
  ) throws -> DecodedImage {
    let coder = try Standard.coder(for: bytes)
    return try bytes.withUnsafeBytes { try coder.decode($0, options: options, limits: limits) }
  }

  private static func thumbnail(_ width: Int, _ height: Int) -> DecodingOptions {
    DecodingOptions(thumbnail: ImageSize(width: width, height: height))
  }

  @Test(
    arguments: [
      (100, 200, 150, 150, 75, 150), (5250, 3450, 400, 300, 400, 263), (64, 48, 640, 480, 64, 48), (64, 48, 64, 48, 64, 48),
      (1000, 10, 100, 100, 100, 1), (37, 53, 36, 53, 36, 52),
    ]
  )
  func `a thumbnail fits its box, keeps its aspect ratio and is never enlarged`(
    width: Int,
    height: Int,
    boxWidth: Int,
    boxHeight: Int,
    resultWidth: Int,
    resultHeight: Int
  ) throws {
    let expected = ImageSize(width: resultWidth, height: resultHeight)
    for bytes in [
      FlatJPEG(width: width, height: height).bytes, FlatJPEG(width: width, height: height, isProgressive: true).bytes,
    ] {
      let image = try Self.decode(bytes, Self.thumbnail(boxWidth, boxHeight))
      #expect(image.pixels.size == expected)
      #expect(image.pixels.bytes.allSatisfy { $0 == 128 || $0 == 255 })
      #expect(image.header.size == ImageSize(width: width, height: height))
    }
    guard width * height < 65_000 else { return }
    let image = try Self.decode(SampleImages.makePNG(width: width, height: height), Self.thumbnail(boxWidth, boxHeight))
    #expect(image.pixels.size == expected)
  }

  @Test(arguments: ["jpg", "png"]) func `a thumbnail resembles the whole image`(type: String) throws {
    for image in FixtureImage.all where image.name.hasSuffix(".\(type)") && image.size.width <= 180 {
      let whole = try Standard.decode(image.bytes).pixels
      for side in [image.size.width - 1, image.size.width * 2 / 3, image.size.width / 8, 7] {
        let pixels = try Self.decode(image.bytes, Self.thumbnail(side, 10_000)).pixels
        #expect(pixels.size.width == side)
        // libjpeg's scaling and area averaging are different filters, which agree on average but not in each pixel.
        let difference = pixels.meanDifference(from: whole)
        #expect(difference < 4, "\(image.name) at \(side): \(difference)")
      }
    }
  }

  @Test func `a rotated image fits the box as displayed`() throws {
    for name in ["rotated.jpg", "rotated.png"] {
      let image = FixtureImage.named(name)
      #expect(image.size.height > image.size.width)
      let pixels = try Self.decode(image.bytes, Self.thumbnail(1000, 24)).pixels
      #expect(pixels.size == ImageSize(width: 16, height: 24), "\(name)")
      #expect(pixels.meanDifference(from: try Standard.decode(image.bytes).pixels) < 3, "\(name)")
    }
  }

  @Test func `a limit on pixel bytes decodes large images smaller`() throws {
    for name in ["photo.jpg", "progressive.jpg", "rgb.png", "interlaced.png"] {
      let image = FixtureImage.named(name)
      let limit = image.size.pixels
      let pixels = try Self.decode(image.bytes, DecodingOptions(maximumBytes: limit)).pixels
      #expect(pixels.bytes.count <= limit && pixels.bytes.count > limit * 9 / 10, "\(name)")
      #expect(try Self.decode(image.bytes, DecodingOptions(maximumBytes: limit * 4)).pixels.size == image.size)
    }
  }

  @Test func `a 100-megapixel baseline JPEG is reduced within 32 MB; progressive coefficients count`() throws {
    let limits = DecodingLimits(maximumBytes: 32 << 20)
    let image = try Self.decode(FlatJPEG(width: 10_000, height: 10_000).bytes, Self.thumbnail(400, 300), limits: limits)
    #expect(image.pixels.size == ImageSize(width: 300, height: 300))
    let progressive = FlatJPEG(width: 10_000, height: 10_000, isProgressive: true).bytes
    let error = imageError { try Self.decode(progressive, Self.thumbnail(400, 300), limits: limits) }
    #expect(error?.kind == .memory(maximumBytes: 32 << 20))
    let whole = imageError { try Self.decode(FlatJPEG(width: 10_000, height: 10_000).bytes, DecodingOptions(), limits: limits) }
    #expect(whole?.kind == .memory(maximumBytes: 32 << 20))
  }
}

extension PixelBuffer {
  /// The mean difference of the colours, weighted by alpha, from the mean of each pixel's area in `whole`.
  func meanDifference(from whole: PixelBuffer) -> Double {
    var sum = 0.0
    for y in 0..<size.height {
      for x in 0..<size.width {
        let mean = whole.mean(
          x: Double(x * whole.size.width) / Double(size.width)..<Double((x + 1) * whole.size.width) / Double(size.width),
          y: Double(y * whole.size.height) / Double(size.height)..<Double((y + 1) * whole.size.height) / Double(size.height)
        )
        let offset = (y * size.width + x) * 4
        let alpha = Double(bytes[offset + 3]) / 255
        for channel in 0..<3 { sum += abs(Double(bytes[offset + channel]) * alpha - mean[channel]) }
      }
    }
    return sum / Double(size.pixels * 3)
  }

  /// The sums of premultiplied colours over pixels that are mostly in an area.
  private func mean(x: Range<Double>, y: Range<Double>) -> [Double] {
    var sums = [0.0, 0, 0]
    var weight = 0.0
    for row in Int(y.lowerBound)..<min(size.height, Int(y.upperBound.rounded(.up))) {
      let height = min(y.upperBound, Double(row + 1)) - max(y.lowerBound, Double(row))
      for column in Int(x.lowerBound)..<min(size.width, Int(x.upperBound.rounded(.up))) {
        let share = height * (min(x.upperBound, Double(column + 1)) - max(x.lowerBound, Double(column)))
        let offset = (row * size.width + column) * 4
        let alpha = Double(bytes[offset + 3]) / 255
        for channel in 0..<3 { sums[channel] += Double(bytes[offset + channel]) * alpha * share }
        weight += share
      }
    }
    return sums.map { $0 / weight }
  }
}

/// Sides below 8 pixels have the same length at seven eighths of the size, rounded up, so the scale is visible only in the pixels.
@Suite("JPEGs with few pixels") struct SmallPictureTests {
  private static let sizes = [(1, 1), (3, 5), (7, 7), (1, 7), (7, 200), (200, 7), (8, 8), (9, 3)]
    .map { ImageSize(width: $0.0, height: $0.1) }

  /// A checkerboard: the highest frequency, which any scale below the full one removes.
  private func checkerboard(_ size: ImageSize) -> DecodedImage {
    let pixels = (0..<size.pixels).flatMap { index -> [UInt8] in
      let value: UInt8 = (index % size.width + index / size.width).isMultiple(of: 2) ? 230 : 30
      return [value, value, value, 255]
    }
    return DecodedImage(header: ImageHeader(format: .png, size: size), pixels: PixelBuffer(size: size, bytes: pixels))
  }

  @Test(arguments: sizes) func `a small image is decoded at full scale, whole or progressively`(size: ImageSize) throws {
    let image = checkerboard(size)
    let file = try JPEGCoder().encode(image, as: .jpeg, options: EncodingOptions(quality: 95))
    let back = try Standard.decode(file).pixels
    #expect(back.size == size)
    #expect(back.difference(from: image.pixels).largest <= 12)
    let decoder = try #require(JPEGCoder().progressiveDecoder(for: .jpeg, limits: DecodingLimits()))
    try file.withUnsafeBytes { try decoder.append($0) }
    #expect(try decoder.image()?.pixels == back)
  }
}
