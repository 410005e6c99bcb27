import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("encoding of JPEG and PNG") struct StillEncodingTests {
  private static let photo = try! Standard.decode(FixtureImage.named("photo-small.jpg").bytes)
  private static let disc = try! Standard.decode(FixtureImage.named("rgba.png").bytes)

  @Test(arguments: ["rgb.png", "rgba.png", "grey.png", "palette-alpha.png", "photo-small.jpg"])
  func `a PNG round trip is lossless`(name: String) throws {
    let image = try Standard.decode(FixtureImage.named(name).bytes)
    let file = try PNGCoder().encode(image, as: .png, options: EncodingOptions())
    let back = try Standard.decode(file)
    #expect(back.pixels == image.pixels)
    #expect(back.warnings == [])
  }

  @Test func `a PNG gets the smallest colour type that holds its pixels`() throws {
    func colorType(_ pixels: [UInt8]) throws -> UInt8 {
      let image = DecodedImage(
        header: ImageHeader(format: .png, size: ImageSize(width: 2, height: 1)),
        pixels: PixelBuffer(size: ImageSize(width: 2, height: 1), bytes: pixels)
      )
      let file = try PNGCoder().encode(image, as: .png, options: EncodingOptions())
      #expect(try Standard.decode(file).pixels == image.pixels)
      return file[25]
    }
    #expect(try colorType([1, 1, 1, 255, 2, 2, 2, 255]) == 0)
    #expect(try colorType([1, 1, 1, 255, 2, 3, 2, 255]) == 2)
    #expect(try colorType([1, 1, 1, 255, 2, 2, 2, 254]) == 4)
    #expect(try colorType([1, 1, 2, 255, 2, 2, 2, 0]) == 6)
  }

  @Test func `a JPEG round trip is closer at higher quality`() throws {
    var last = Double.infinity
    var size = 0
    for quality in [30, 85, 90, 100] {
      let file = try JPEGCoder().encode(Self.photo, as: .jpeg, options: EncodingOptions(quality: quality))
      let back = try Standard.decode(file)
      #expect(back.warnings == [] && back.pixels.size == Self.photo.pixels.size)
      let mean = back.pixels.difference(from: Self.photo.pixels).mean
      #expect(mean < last && file.count > size)
      (last, size) = (mean, file.count)
    }
    #expect(last < 1)
  }

  @Test func `chroma is subsampled below quality 90`() throws {
    for (quality, factors) in [(89, 0x22), (90, 0x11)] as [(Int, UInt8)] {
      let file = try JPEGCoder().encode(Self.photo, as: .jpeg, options: EncodingOptions(quality: quality))
      let frame = try #require(file.indices.dropLast().first { file[$0] == 0xFF && file[$0 + 1] == 0xC0 })
      #expect(file[frame + 11] == factors)
    }
  }

  @Test func `a JPEG has no alpha: transparent pixels are drawn on white`() throws {
    let file = try JPEGCoder().encode(Self.disc, as: .jpeg, options: EncodingOptions(quality: 100))
    let back = try Standard.decode(file).pixels.bytes
    let source = Self.disc.pixels.bytes
    let differences = stride(from: 0, to: source.count, by: 4).map { offset in
      let alpha = Int(source[offset + 3])
      return abs(Int(back[offset + 1]) - (Int(source[offset + 1]) * alpha + 255 * (255 - alpha)) / 255)
    }
    #expect(differences.max().map { $0 <= 8 } == true)
  }

  @Test(arguments: [3_000, 6_000, 12_000])
  func `the quality is lowered until a JPEG fits, and no further`(_ limit: Int) throws {
    let file = try JPEGCoder().encode(Self.photo, as: .jpeg, options: EncodingOptions(quality: 95, maximumBytes: limit))
    #expect(file.count <= limit)
    let sizes = try (1...95).map { try JPEGCoder().encode(Self.photo, as: .jpeg, options: EncodingOptions(quality: $0)).count }
    #expect(file.count == sizes.last { $0 <= limit })
  }

  @Test func `an image that never fits isn't written`() {
    let small = imageError { try JPEGCoder().encode(Self.photo, as: .jpeg, options: EncodingOptions(maximumBytes: 200)) }
    #expect(small?.kind == .unencodable)
    expectGolden(small?.message)
    let png = imageError { try PNGCoder().encode(Self.photo, as: .png, options: EncodingOptions(maximumBytes: 20_000)) }
    #expect(png?.kind == .unencodable)
    for format in [ImageFormat.png, .webp] {
      #expect(imageError { try JPEGCoder().encode(Self.photo, as: format, options: EncodingOptions()) }?.kind == .unencodable)
    }
    let wide = PixelBuffer(size: ImageSize(width: 65_501, height: 1), bytes: [UInt8](repeating: 9, count: 65_501 * 4))
    let image = DecodedImage(header: ImageHeader(format: .png, size: wide.size), pixels: wide)
    let error = imageError { try JPEGCoder().encode(image, as: .jpeg, options: EncodingOptions()) }
    #expect(error?.kind == .unencodable && error?.message.contains("65500") == true)
  }

  @Test func `an image is reduced to the requested box`() throws {
    let options = EncodingOptions(maximumSize: ImageSize(width: 100, height: 100))
    let file = try JPEGCoder().encode(Self.photo, as: .jpeg, options: options)
    #expect(try Standard.header(file).size == ImageSize(width: 100, height: 67))
    let whole = EncodingOptions(maximumSize: ImageSize(width: 1000, height: 1000))
    #expect(try Standard.header(PNGCoder().encode(Self.photo, as: .png, options: whole)).size == Self.photo.pixels.size)
  }

  @Test func `the first frame of an animation is written upright`() throws {
    let animated = try Standard.decode(FixtureImage.named("animated.png").bytes)
    #expect(try Standard.decode(PNGCoder().encode(animated, as: .png, options: EncodingOptions())).pixels == animated.pixels)
    let turned = try Standard.decode(FixtureImage.named("rotated.jpg").bytes)
    let header = try Standard.header(JPEGCoder().encode(turned, as: .jpeg, options: EncodingOptions()))
    #expect(header.size == turned.header.displaySize && header.orientation == 1)
  }

  @Test(
    .enabled(if: ["djpeg", "pngtopnm"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") })
  )
  func `the libraries' own tools read the written files`() throws {
    let folder = TemporaryDirectory()
    let files = [
      ("djpeg", try JPEGCoder().encode(Self.photo, as: .jpeg, options: EncodingOptions())),
      ("pngtopnm", try PNGCoder().encode(Self.photo, as: .png, options: EncodingOptions())),
    ]
    for (tool, bytes) in files {
      let path = folder.file(tool)
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/\(tool)")
      process.arguments = [path]
      let output = Pipe()
      process.standardOutput = output
      try process.run()
      let pixels = [UInt8](try #require(try output.fileHandleForReading.readToEnd())).suffix(240 * 160 * 3)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      let ours = try Standard.decode(bytes).pixels.bytes
      #expect(Array(pixels) == ours.indices.filter { $0 % 4 != 3 }.map { ours[$0] }, "\(tool)")
    }
  }
}
