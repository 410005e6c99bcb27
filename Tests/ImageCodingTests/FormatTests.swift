import ImageCoding
import Base
import TestSupport
import Testing

/// What holds for the files of every format.
@Suite("files of every format") struct FormatTests {
  @Test(arguments: FixtureImage.ofEveryFormat)
  func `each good file decodes to the pixels of another decoder`(_ image: FixtureImage) throws {
    let decoded = try Standard.decode(image.bytes)
    #expect(decoded.pixels.size == image.size)
    #expect(decoded.warnings == image.warnings)
    for sample in image.samples {
      let pixel = decoded.pixels.pixel(sample[0], sample[1]).map(Int.init)
      // Transparent pixels may have any colour.
      if sample[5] == 0, pixel[3] == 0 { continue }
      #expect(zip(pixel, sample[2...]).allSatisfy { abs($0 - $1) <= 2 }, "\(pixel) at \(sample)")
    }
  }

  @Test(arguments: FixtureImage.ofEveryFormat)
  func `verifying, decoding and parsing return the same header`(_ image: FixtureImage) throws {
    let proof = try Standard.prove(image.bytes)
    #expect(proof.header == (try Standard.decode(image.bytes).header))
    #expect(proof.header == (try Standard.header(image.bytes)))
    #expect(proof.header.displaySize == image.size)
    #expect(proof.warnings == image.warnings && proof.header.warnings == image.warnings)
  }

  @Test(arguments: FixtureImage.ofEveryFormat)
  func `a header says how many bytes it needs, and that many suffice`(_ image: FixtureImage) throws {
    let bytes = image.bytes
    let whole = try Standard.header(bytes)
    var (length, looks) = (0, 0)
    while true {
      do {
        let header = try Standard.header(bytes, prefix: length)
        #expect(header.size == whole.size && header.hasAlpha == whole.hasAlpha)
        // Only its frames make a GIF animated. In a WebP, the metadata follow the picture.
        #expect(header.isAnimated == whole.isAnimated || image.name.hasSuffix(".gif"))
        #expect(header.orientation == whole.orientation || image.name.hasSuffix(".webp"))
        #expect((header.profile == nil) == (whole.profile == nil) || image.name.hasSuffix(".webp"))
        #expect(
          looks < 12 || image.folder == "good" || image.folder == "jxl" && length < 400,
          "\(looks) looks at \(length) bytes"
        )
        return
      } catch let error as ImageError {
        guard case .needsMoreBytes(let minimum) = error.kind else {
          // Too short to detect the format.
          #expect(error.kind == .notAnImage && length < 12)
          length += 1
          continue
        }
        try #require(minimum > length && minimum <= bytes.count)
        (length, looks) = (minimum, looks + 1)
      }
    }
  }

  @Test(arguments: FixtureImage.ofEveryFormat)
  func `every prefix has the header, needs more bytes or is too short for the format`(_ image: FixtureImage) throws {
    let bytes = image.bytes
    for length in 0..<min(bytes.count, 600) {
      let error = imageError { try Standard.header(bytes, prefix: length) }
      switch error?.kind {
      case nil: break
      case .needsMoreBytes(let minimum): #expect(minimum > length && minimum <= bytes.count)
      case .notAnImage: #expect(length < 12)
      default: Issue.record("\(length): \(error!.message)")
      }
    }
  }

  @Test(arguments: FixtureImage.ofEveryFormat) func `a thumbnail fits its box`(_ image: FixtureImage) throws {
    for box in [ImageSize(width: 13, height: 13), ImageSize(width: 1, height: 200)] {
      let options = DecodingOptions(thumbnail: box)
      let thumbnail = try Standard.decode(image.bytes, options: options)
      #expect(thumbnail.pixels.size == options.decodedSize(of: image.size))
      #expect(thumbnail.header == (try Standard.header(image.bytes)))
      for frame in thumbnail.animation?.frames ?? [] { #expect(frame.pixels.size == thumbnail.pixels.size) }
      // Decoders of other formats scale by themselves, or before they turn the image.
      guard ["bmp", "ico", "tiff"].contains(image.folder), thumbnail.header.orientation == 1 else { continue }
      #expect(thumbnail.pixels == (try Standard.decode(image.bytes).pixels.reduced(to: thumbnail.pixels.size)))
    }
  }

  /// Their largest picture isn't the first.
  private static let otherPixels = ["pages.tif": 30 * 44, "collection.heic": 64 * 96]

  @Test(arguments: FixtureImage.ofEveryFormat) func `the pixel limit is exact`(_ image: FixtureImage) throws {
    let pixels = Self.otherPixels[image.name] ?? image.size.pixels
    _ = try Standard.prove(image.bytes, limits: DecodingLimits(maximumPixels: pixels))
    let limits = DecodingLimits(maximumPixels: pixels - 1)
    #expect(rejection(image.bytes, limits)?.kind == .dimensions(maximumPixels: pixels - 1))
  }

  @Test(arguments: ["photo.avif", "strips.tif", "photo.heic", "photo.jxl", "photo.bmp", "runs.bmp", "mixed.ico", "alpha.ico"])
  func `memory is limited and returned`(name: String) throws {
    guard let image = FixtureImage.ofEveryFormat.first(where: { $0.name == name }) else { return }
    let least = min(100_000, image.size.pixels * 4)
    let tight = DecodingLimits(maximumBytes: least)
    #expect(imageError { try Standard.decode(image.bytes, limits: tight) }?.kind == .memory(maximumBytes: least))
    let budget = DecodingBudget(bytes: 2 << 20)
    let limits = DecodingLimits(budget: budget)
    _ = try Standard.decode(image.bytes, limits: limits)
    _ = try Standard.prove(image.bytes, limits: limits)
    var damaged = image.bytes
    for index in damaged.count / 2..<damaged.count { damaged[index] = 0xFF }
    _ = imageError { try Standard.decode(damaged, limits: limits) }
    _ = imageError { try Standard.decode(damaged.dropLast(100), limits: limits) }
    #expect(budget.takenBytes == 0)
  }

  @Test(arguments: [
    "avif/broken/large.avif", "heic/broken/huge.heic", "heic/broken/large.heic", "bmp/broken/huge.bmp", "broken/huge.png",
  ])
  func `a small file that claims many pixels is rejected by its header`(path: String) throws {
    let bytes = Fixtures.bytes("images/\(path)")
    guard (try? Standard.coder(for: bytes)) != nil else { return }
    #expect(bytes.count < 4096)
    #expect(throws: Never.self) { try Standard.header(bytes, prefix: bytes.count) }
    #expect(rejection(bytes)?.kind == .dimensions(maximumPixels: 100_000_000))
  }

  @Test(
    arguments: [
      "bmp/broken/cut.bmp", "bmp/broken/cut-runs.bmp", "ico/broken/cut.ico", "ico/broken/cut-mask.ico", "ico/broken/bad-crc.ico",
      "tiff/broken/cut.tif", "tiff/broken/cut-early-directory.tif", "jxl/broken/cut.jxl", "jxl/broken/cut-animated.jxl",
      "jxl/broken/cut-pieces.jxl", "jxl/broken/without-codestream.jxl", "jxl/broken/corrupt.jxl", "broken/cut.jpg",
      "broken/cut-between-scans.jpg", "broken/lying-height.jpg", "broken/cut.png", "broken/bad-crc.png", "broken/cut.webp",
      "avif/broken/cut.avif", "avif/broken/cut-animated.avif", "heic/broken/cut.heic", "heic/broken/lying-size.heic",
      "heic/broken/lying-grid.heic", "heic/broken/uncovered.heic", "heic/broken/missing-tiles.heic", "heic/broken/no-tile.heic",
      "heic/broken/grid-loop.heic", "heic/broken/identity-loop.heic", "heic/broken/overlay-loop.heic",
      "heic/broken/alpha-loop.heic", "heic/broken/two-pictures.heic", "heic/broken/av1.heic", "heic/broken/jpeg.heic",
      "heic/broken/sequence.heic",
    ]
  )
  func `each broken file is undecodable with a message`(path: String) {
    let bytes = Fixtures.bytes("images/\(path)")
    guard (try? Standard.coder(for: bytes)) != nil else { return }
    let error = rejection(bytes)
    #expect(error?.kind == .undecodable)
    expectGolden(error?.message, for: path)
  }

  @Test func `other files are of no coder's format`() {
    let others =
      [
        [], [0x00], Array("ftypavif".utf8), Array("ftypheic".utf8), Array("JXL ".utf8), Array("II".utf8), Array("II*".utf8),
        Array("IM*\0".utf8), [UInt8](repeating: 0, count: 64),
      ] + ["gif-inside.jpg", "page.jpg", "text.png", "empty.jpg"].map { Fixtures.bytes("images/broken/\($0)") }
    let formats: [ImageFormat] = [.jpeg, .png, .webp, .bmp, .ico, .avif, .tiff, .heic, .jpegXL]
    for coder in formats.compactMap(ImageCoderRegistry.standard.coder) {
      for bytes in others {
        bytes.withUnsafeBytes { bytes in
          #expect(imageError { try coder.header(of: bytes, isComplete: true) }?.kind == .notAnImage, "\(coder)")
          #expect(imageError { try coder.proveDecodable(bytes, limits: DecodingLimits()) }?.kind == .notAnImage, "\(coder)")
        }
      }
    }
  }
}
