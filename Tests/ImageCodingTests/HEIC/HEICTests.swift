import ImageCoding
import Base
import TestSupport
import Testing

@Suite("HEIC") struct HEICTests {
  @Test func `a header has the file's properties`() throws {
    func header(_ name: String) throws -> ImageHeader { try Standard.header(FixtureImage.named(name).bytes) }
    let photo = try header("photo.heic")
    #expect(photo == ImageHeader(format: .heic, size: ImageSize(width: 240, height: 160), colorSpace: .ycbcr))
    #expect(try header("grey.heic").size == ImageSize(width: 121, height: 81))
    #expect(try header("lossless.heic").colorSpace == nil, "only the picture says that it isn't YCbCr")
    #expect(try header("grid.heic").size == ImageSize(width: 250, height: 180))
    #expect(try header("profile.heic").profile == ICCProfile(name: "sRGB built-in"))
    let position = try header("position.heic")
    #expect(position.hasPosition && position.dpi == 300)
    let cropped = try header("cropped.heic")
    #expect(cropped.size == ImageSize(width: 100, height: 61) && cropped.orientation == 8)
  }

  @Test func `the pictures of a collection are counted, but aren't an animation`() throws {
    let bytes = FixtureImage.named("collection.heic").bytes
    let header = try Standard.header(bytes)
    #expect(header.frames == 2 && !header.isAnimated)
    #expect(try Standard.decode(bytes).animation == nil)
    #expect(rejection(bytes, DecodingLimits(maximumFrames: 1))?.kind == .undecodable)
  }

  @Test func `every picture of a collection is verified unless only the first is decoded`() throws {
    var bytes = FixtureImage.named("collection.heic").bytes
    for index in bytes.count - 40..<bytes.count { bytes[index] = 0xFF }
    #expect(rejection(bytes)?.kind == .undecodable)
    let first = try Standard.decode(bytes, options: DecodingOptions(firstFrameOnly: true))
    #expect(first.pixels == (try Standard.decode(FixtureImage.named("collection.heic").bytes).pixels))
  }

  @Test func `a picture deeper than the container says is rejected`() {
    var bytes = FixtureImage.named("deep.heic").bytes
    let configuration = bytes.offset(of: "hvcC") + 4
    for index in [configuration + 17, configuration + 18] { bytes[index] &= 0xF8 }
    expectGolden(imageError { try Standard.prove(bytes) }?.message)
  }

  @Test(arguments: [7: 0, 3: 200, 19: 8])
  func `a clean aperture without denominators or beyond the picture is rejected`(place: Int, value: UInt8) {
    var bytes = FixtureImage.named("cropped.heic").bytes
    bytes[bytes.offset(of: "clap") + 4 + place] = value
    expectGolden(imageError { try Standard.header(bytes) }?.message, for: "byte \(place)")
  }

  @Test func `the time limit is checked between the tiles of a grid`() {
    let bytes = Fixtures.bytes("images/heic/broken/many-tiles.heic")
    let error = rejection(bytes, DecodingLimits(maximumTime: .milliseconds(50)))
    #expect(error?.kind == .undecodable)
    expectGolden(error?.message)
  }

  @Test func `boxes, tables and items are limited`() {
    let bytes = FixtureImage.named("photo.heic").bytes
    let start = Array(bytes[..<(bytes.offset(of: "meta") - 4)])
    func message(_ boxes: [UInt8]) -> String? {
      imageError { try Standard.header(start + boxes + bytes[start.count...]) }?.message
    }
    expectGolden(message(Array(Array(repeating: [UInt8]().boxed("free"), count: 10_001).joined())), for: "boxes")
    expectGolden(message(([0, 0, 0, 0] + [UInt8](repeating: 0, count: 600_000).boxed("iloc")).boxed("meta")), for: "tables")
    let typed = (1...5_001).flatMap { number -> [UInt8] in
      let index: [UInt8] = [2, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255), 0, 0]
      return (index + Array("hvc1\0".utf8)).boxed("infe")
    }
    let count: [UInt8] = [0, 0, 0, 0, UInt8(5_001 >> 8), UInt8(5_001 & 255)]
    let items = count + typed
    expectGolden(message(([0, 0, 0, 0] + items.boxed("iinf")).boxed("meta")), for: "items")
  }

  @Test func `a meta box beyond a prefix is needed without the bytes before it`() throws {
    let bytes = FixtureImage.named("photo.heic").bytes
    let start = bytes.offset(of: "meta") - 4
    let padding = [UInt8](repeating: 0, count: 300_000).boxed("free")
    let file = Array(bytes[..<start]) + padding + bytes[start...]
    let error = try #require(imageError { try Standard.header(file, prefix: 1000) })
    #expect(error.neededStart == start + 300_008 && error.kind == .needsMoreBytes(minimum: start + 300_016))
    let next = try #require(imageError { try Standard.header(file, prefix: start + 300_016) })
    #expect(next.neededStart == start + 300_008)
  }

  @Test(arguments: FixtureImage.ofEveryFormat.filter { $0.folder == "heic" })
  func `data beyond the file's end are found by the header of a complete file`(_ image: FixtureImage) {
    let bytes = image.bytes
    let error = imageError { try Standard.header(Array(bytes.dropLast())) }
    #expect(error?.kind == .undecodable)
    let start = "the HEIC file is truncated: it has \(bytes.count - 1) bytes"
    #expect(error?.message.hasPrefix(start) == true, "\(error?.message ?? "no error")")
  }

  @Test func `lost synchronisation in a slice is found, although libde265 conceals it`() {
    let bytes = FixtureImage.named("photo.heic").bytes
    let start = bytes.offset(of: "mdat") + 24
    var found = 0
    for offset in start..<start + 200 {
      var damaged = bytes
      damaged[offset] ^= 0x55
      if imageError({ try Standard.prove(damaged) }) != nil { found += 1 }
    }
    #expect(found >= 190, "\(found) of 200")
  }
}
