#if RareFormats
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("broken HEIC images") struct BrokenHEICTests {
  @Test(
    arguments: [
      "cut", "lying-size", "lying-grid", "uncovered", "missing-tiles", "no-tile", "grid-loop", "identity-loop", "overlay-loop",
      "alpha-loop", "two-pictures", "av1", "jpeg", "sequence",
    ]
  )
  func `each broken HEIC is undecodable with a message`(name: String) {
    let bytes = Fixtures.bytes("images/heic/broken/\(name).heic")
    let error = imageError { try HEIC.decode(bytes) }
    #expect(error?.kind == .undecodable)
    #expect(imageError { try HEIC.prove(bytes) } == error)
    expectGolden(error?.message, for: name)
  }

  @Test func `other files aren't HEIC`() {
    for bytes in [Fixtures.bytes("images/good/photo.jpg"), [], Array("ftypheic".utf8), [UInt8](repeating: 0, count: 64)] {
      #expect(imageError { try HEIC.header(bytes) }?.kind == .notAnImage)
      #expect(imageError { try HEIC.prove(bytes) }?.kind == .notAnImage)
    }
  }

  @Test(arguments: ["huge", "large"])
  func `a small file that claims many pixels is rejected by its header`(name: String) {
    let bytes = Fixtures.bytes("images/heic/broken/\(name).heic")
    #expect(imageError { try HEIC.decode(bytes) }?.kind == .dimensions(maximumPixels: 100_000_000))
    #expect(imageError { try HEIC.prove(bytes) }?.kind == .dimensions(maximumPixels: 100_000_000))
  }

  @Test func `a picture deeper than the container says is rejected`() {
    var bytes = HEICImageFile.named("deep.heic").bytes
    let configuration = bytes.offset(of: "hvcC") + 4
    for index in [configuration + 17, configuration + 18] { bytes[index] &= 0xF8 }
    expectGolden(imageError { try HEIC.prove(bytes) }?.message)
  }

  @Test(arguments: [7: 0, 3: 200, 19: 8])
  func `a clean aperture without denominators or beyond the picture is rejected`(place: Int, value: UInt8) {
    var bytes = HEICImageFile.named("cropped.heic").bytes
    bytes[bytes.offset(of: "clap") + 4 + place] = value
    expectGolden(imageError { try HEIC.header(bytes) }?.message, for: "byte \(place)")
  }

  @Test func `the time limit is checked between the tiles of a grid`() {
    let bytes = Fixtures.bytes("images/heic/broken/many-tiles.heic")
    let limits = DecodingLimits(maximumTime: .milliseconds(50))
    for error in [imageError { try HEIC.decode(bytes, limits: limits) }, imageError { try HEIC.prove(bytes, limits: limits) }] {
      #expect(error?.kind == .undecodable)
      expectGolden(error?.message)
    }
  }

  @Test(arguments: HEICImageFile.all) func `the pixel limit is exact`(_ image: HEICImageFile) throws {
    let pixels = image.size.pixels
    let options = DecodingOptions(firstFrameOnly: true)
    _ = try HEIC.decode(image.bytes, options: options, limits: DecodingLimits(maximumPixels: pixels))
    let error = imageError { try HEIC.prove(image.bytes, limits: DecodingLimits(maximumPixels: pixels - 1)) }
    #expect(error?.kind == .dimensions(maximumPixels: pixels - 1))
  }

  @Test func `memory is limited and returned`() throws {
    let bytes = HEICImageFile.named("photo.heic").bytes
    let least = DecodingLimits(maximumBytes: 100_000)
    #expect(imageError { try HEIC.decode(bytes, limits: least) }?.kind == .memory(maximumBytes: 100_000))
    #expect(imageError { try HEIC.prove(bytes, limits: least) }?.kind == .memory(maximumBytes: 100_000))
    let budget = DecodingBudget(bytes: 1 << 20)
    let limits = DecodingLimits(budget: budget)
    _ = try HEIC.decode(bytes, limits: limits)
    var damaged = bytes
    for index in bytes.count / 2..<bytes.count { damaged[index] = 0xFF }
    let error = imageError { try HEIC.decode(damaged, limits: limits) }
    expectGolden(error?.message)
    #expect(budget.takenBytes == 0)
  }

  @Test func `boxes, tables and items are limited`() {
    let bytes = HEICImageFile.named("photo.heic").bytes
    let start = Array(bytes[..<(bytes.offset(of: "meta") - 4)])
    func message(_ boxes: [UInt8]) -> String? { imageError { try HEIC.header(start + boxes + bytes[start.count...]) }?.message }
    expectGolden(message(Array(Array(repeating: [UInt8]().boxed("free"), count: 10_001).joined())), for: "boxes")
    expectGolden(message(([0, 0, 0, 0] + [UInt8](repeating: 0, count: 600_000).boxed("iloc")).boxed("meta")), for: "tables")
    let typed = (1...5_001).flatMap { number in
      ([2, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255), 0, 0] + "hvc1".utf8 + [0] as [UInt8]).boxed("infe")
    }
    let items = [0, 0, 0, 0, UInt8(5_001 >> 8), UInt8(5_001 & 255)] + typed
    expectGolden(message(([0, 0, 0, 0] + items.boxed("iinf")).boxed("meta")), for: "items")
  }

  @Test func `a meta box beyond a prefix is needed without the bytes before it`() throws {
    let bytes = HEICImageFile.named("photo.heic").bytes
    let start = bytes.offset(of: "meta") - 4
    let padding = [UInt8](repeating: 0, count: 300_000).boxed("free")
    let file = Array(bytes[..<start]) + padding + bytes[start...]
    let error = try #require(imageError { try HEIC.header(file, prefix: 1000) })
    #expect(error.neededStart == start + 300_008 && error.kind == .needsMoreBytes(minimum: start + 300_016))
    let next = try #require(imageError { try HEIC.header(file, prefix: start + 300_016) })
    #expect(next.neededStart == start + 300_008)
  }

  @Test(arguments: HEICImageFile.all)
  func `data beyond the file's end are found by the header of a complete file`(_ image: HEICImageFile) {
    let bytes = image.bytes
    let error = imageError { try HEIC.header(Array(bytes.dropLast())) }
    #expect(error?.kind == .undecodable)
    let start = "the HEIC file is truncated: it has \(bytes.count - 1) bytes"
    #expect(error?.message.hasPrefix(start) == true, "\(error?.message ?? "no error")")
  }

  @Test(arguments: HEICImageFile.all) func `a file cut anywhere isn't good`(_ image: HEICImageFile) {
    for length in stride(from: 0, to: image.bytes.count, by: 7) {
      let cut = Array(image.bytes.prefix(length))
      let error = imageError { try HEIC.prove(cut) }
      #expect(error?.message.isEmpty == false, "cut to \(length)")
      #expect(imageError { try HEIC.decode(cut) } == error, "cut to \(length)")
    }
  }

  @Test func `lost synchronisation in a slice is found, although libde265 conceals it`() {
    let bytes = HEICImageFile.named("photo.heic").bytes
    let start = bytes.offset(of: "mdat") + 24
    var found = 0
    for offset in start..<start + 200 {
      var damaged = bytes
      damaged[offset] ^= 0x55
      if imageError({ try HEIC.prove(damaged) }) != nil { found += 1 }
    }
    #expect(found >= 190, "\(found) of 200")
  }

  private static let limits = DecodingLimits(maximumPixels: 1_000_000)

  @Test(arguments: HEICImageFile.all)
  func `no bytes crash the decoder, and decoding and verifying agree`(_ image: HEICImageFile) {
    let bytes = image.bytes
    var random = SeededRandom(seed: UInt64(bytes.count))
    for step in 0..<80 {
      var damaged = bytes
      // Every second offset is in the boxes.
      let offset = Int.random(in: 0..<(step.isMultiple(of: 2) ? min(bytes.count, 700) : bytes.count), using: &random)
      damaged[offset] ^= UInt8.random(in: 1...255, using: &random)
      check(damaged, "byte \(offset) wrong at step \(step)")
    }
  }

  private func check(_ bytes: [UInt8], _ what: String) {
    let decoding = Result { try HEIC.decode(bytes, limits: Self.limits) }
    let proof = Result { try HEIC.prove(bytes, limits: Self.limits) }
    switch (decoding, proof) {
    case (.success(let image), .success(let proof)):
      #expect(image.header == proof.header, "\(what)")
      #expect(image.pixels.size == image.header.displaySize, "\(what)")
    case (.failure(let left), .failure(let right)):
      let (left, right) = (left as? ImageError, right as? ImageError)
      // Decoding needs more memory.
      if case .memory = left?.kind { #expect(left?.kind == right?.kind, "\(what)") } else { #expect(left == right, "\(what)") }
      #expect(left?.message.isEmpty == false, "\(what)")
    case (.success, .failure(let error)):
      Issue.record("\(what): decoded, but not verified: \(error)")
    case (.failure(let error), .success):
      Issue.record("\(what): verified, but not decoded: \(error)")
    }
  }
}
#endif
