import ImageCoding
import Base
import Testing

@Suite("good TIFF images") struct GoodTIFFTests {
  @Test func `a header has the file's properties`() throws {
    func header(_ name: String) throws -> ImageHeader { try Standard.header(FixtureImage.named(name).bytes) }
    let size = ImageSize(width: 60, height: 41)
    for name in ["raw.tif", "strips.tif", "big-endian.tif", "big.tif", "webp.tif"] {
      #expect(try header(name) == ImageHeader(format: .tiff, size: size, colorSpace: .rgb))
    }
    #expect(try header("lab.tif").colorSpace == nil)
    let turned = try header("turned.tif")
    #expect(turned.orientation == 6 && turned.size == ImageSize(width: 48, height: 31))
    #expect(turned.profile == ICCProfile(name: "sRGB built-in"))
    #expect(!turned.hasPosition)
    #expect(turned.dpi == 300)
    // A GPS directory with a latitude, which serves as the picture too.
    let positions: [UInt8] = [1, 0, 2, 0, 5, 0, 3, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]
    #expect(try Standard.header(TIFFFile(TIFFFile.Page(width: 6, height: 3, positions, [34_853: [8]])).bytes).hasPosition)
  }

  @Test func `pages are counted as frames, but aren't an animation`() throws {
    let bytes = FixtureImage.named("pages.tif").bytes
    let image = try Standard.decode(bytes)
    #expect(image.header.frames == 3)
    #expect(!image.header.isAnimated)
    #expect(image.animation == nil)
    #expect(try Standard.header(bytes, prefix: 1392).frames == 1)
    let first = try Standard.decode(bytes, options: DecodingOptions(firstFrameOnly: true))
    #expect(first == image)
  }

  @Test func `a damaged later page is an error unless only the first is decoded`() throws {
    let page = TIFFFile.Page(width: 4, height: 4, Array(repeating: 7, count: 16))
    var damaged = page
    damaged.fields[259] = [5]
    let bytes = TIFFFile(page, damaged).bytes
    #expect(TIFF.error(bytes)?.kind == .undecodable)
    #expect(TIFF.error(bytes)?.message.hasSuffix(", on page 2 of 2") == true)
    #expect(try Standard.decode(bytes, options: DecodingOptions(firstFrameOnly: true)).header.frames == 2)
  }

  @Test(arguments: 1...8) func `all orientations put the corners in the right places`(_ orientation: Int) throws {
    let page = TIFFFile.Page(width: 3, height: 2, [10, 20, 30, 40, 50, 60], [274: [orientation]])
    let image = try Standard.decode(TIFFFile(page).bytes)
    #expect(image.header.orientation == orientation)
    let grey = stride(from: 0, to: 24, by: 4).map { Int(image.pixels.bytes[$0]) }
    let expected = [
      [10, 20, 30, 40, 50, 60], [30, 20, 10, 60, 50, 40], [60, 50, 40, 30, 20, 10], [40, 50, 60, 10, 20, 30],
      [10, 40, 20, 50, 30, 60], [40, 10, 50, 20, 60, 30], [60, 30, 50, 20, 40, 10], [30, 60, 20, 50, 10, 40],
    ]
    #expect(grey == expected[orientation - 1])
    #expect(image.pixels.size == ImageSize(width: orientation < 5 ? 3 : 2, height: orientation < 5 ? 2 : 3))
  }
}
