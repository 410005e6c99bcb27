import ImageCoding
import Base
import TestSupport
import Testing

@Suite("broken TIFF images") struct BrokenTIFFTests {
  private static let page = TIFFFile.Page(width: 4, height: 4, Array(repeating: 7, count: 16))

  @Test func `missing strips, palettes and directories are reported as truncation`() {
    var page = Self.page
    page.fields[279] = [16_000]
    page.fields[259] = [8]
    expectGolden(TIFF.error(TIFFFile(page).bytes)?.message)
    page.fields[259] = [1]
    page.fields[273] = [1_000_000]
    expectGolden(TIFF.error(TIFFFile(page).bytes)?.message)
    page = TIFFFile.Page(width: 4, height: 4, photometric: 3, Array(repeating: 7, count: 16))
    expectGolden(TIFF.error(TIFFFile(page).bytes)?.message)
    page = Self.page
    page.fields[34_675] = Array(repeating: 7, count: 9)
    var bytes = TIFFFile(page).bytes
    bytes.removeLast()
    expectGolden(TIFF.error(bytes)?.message)
  }

  @Test func `an uncompressed strip that continues beyond the file is truncated, unless only its declared length is too large`()
    throws
  {
    for height in [4, 5] {
      var page = TIFFFile.Page(width: 1000, height: height, Array(repeating: 7, count: 4000))
      page.fields[279] = [5000]
      var file = TIFFFile(page).bytes
      // The strip goes to the end.
      let strip = UInt32(file.count)
      file += Array(repeating: 7, count: 4000)
      let offsets = try #require((8..<file.count).first { file[$0..<$0 + 4] == [17, 1, 4, 0] })
      withUnsafeBytes(of: strip.littleEndian) { file.replaceSubrange(offsets + 8..<offsets + 12, with: $0) }
      let error = imageError { try Standard.header(file) }
      #expect((error == nil) == (height == 4))
      if let error { expectGolden(error.message) }
      let stated = file.withUnsafeBytes { TIFFCoder().statedBytes(UnsafeRawBufferPointer(rebasing: $0.prefix($0.count - 4000))) }
      #expect(stated == Int(strip) + height * 1000)
    }
  }

  @Test(arguments: [279, 65_000]) func `without lengths of compressed strips, a file states no length`(tag: Int) throws {
    var page = Self.page
    (page.fields[259], page.fields[279]) = ([8], [0])
    var file = TIFFFile(page).bytes
    let lengths = try #require((8..<file.count).first { file[$0..<$0 + 4] == [23, 1, 4, 0] })
    withUnsafeBytes(of: UInt16(tag).littleEndian) { file.replaceSubrange(lengths..<lengths + 2, with: $0) }
    #expect(file.withUnsafeBytes { TIFFCoder().statedBytes($0) } == nil)
  }

  @Test(arguments: [256, 257, 278])
  func `later pages without a width or height are errors or ignored, but never a crash`(tag: Int) {
    for isTiled in [false, true] {
      var page = Self.page
      if isTiled { (page.fields[322], page.fields[323]) = ([0], [0]) }
      page.fields[tag] = [0]
      let file = TIFFFile(Self.page, page).bytes
      #expect(throws: Never.self) { try Standard.header(file, prefix: file.count) }
      _ = try? Standard.header(file)
      #expect(tag == 278 || TIFF.error(file)?.kind == .undecodable)
      _ = file.withUnsafeBytes { TIFFCoder().statedBytes($0) }
    }
  }

  @Test(arguments: [[0: 0], [2: 0], [2: 1]]) func `pages that form a loop are an error`(_ next: [Int: Int]) {
    var file = TIFFFile(Self.page, Self.page, Self.page)
    file.next = next
    for isBig in [false, true] {
      file.isBig = isBig
      #expect(TIFF.error(file.bytes)?.message.hasPrefix("the TIFF file's pages form a loop") == true)
      #expect(imageError { try Standard.header(file.bytes) }?.kind == .undecodable)
      #expect(throws: Never.self) { try Standard.decode(file.bytes, options: DecodingOptions(firstFrameOnly: true)) }
    }
  }

  @Test func `SubIFDs are ignored`() throws {
    var page = Self.page
    page.fields[330] = [8, 24, 1_000_000]
    #expect(try Standard.prove(TIFFFile(page).bytes).header.frames == 1)
  }

  @Test func `pages are limited`() {
    let file = TIFFFile(Self.page, Self.page, Self.page)
    #expect(throws: Never.self) { try Standard.prove(file.bytes, limits: DecodingLimits(maximumFrames: 3)) }
    expectGolden(TIFF.error(file.bytes, limits: DecodingLimits(maximumFrames: 2))?.message)
    // Directories of one field each, in front of the last of which comes its own position.
    var bytes = TIFFFile(Self.page).bytes
    let last = bytes.count
    let link = bytes.count - 4
    for page in 0..<70_000 {
      bytes += [1, 0, 0, 1, 4, 0, 1, 0, 0, 0, 1, 0, 0, 0]
      bytes += withUnsafeBytes(of: UInt32(last + (page + 1) * 18).littleEndian, Array.init)
    }
    withUnsafeBytes(of: UInt32(last).littleEndian) { bytes.replaceSubrange(link..<link + 4, with: $0) }
    expectGolden(imageError { try Standard.header(bytes) }?.message)
    #expect(TIFF.error(bytes)?.kind == .undecodable)
  }

  @Test func `memory is limited and returned`() throws {
    let bytes = FixtureImage.named("strips.tif").bytes
    #expect(TIFF.error(bytes, limits: DecodingLimits(maximumBytes: 100_000))?.kind == .memory(maximumBytes: 100_000))
    let budget = DecodingBudget(bytes: 1 << 20)
    let limits = DecodingLimits(budget: budget)
    _ = try Standard.decode(bytes, limits: limits)
    var damaged = bytes
    for index in 20..<60 { damaged[index] = 0xFF }
    #expect(TIFF.error(damaged, limits: limits)?.kind == .undecodable)
    #expect(budget.takenBytes == 0)
  }

  @Test func `the time limit is checked between strips`() {
    expectGolden(
      TIFF.error(FixtureImage.named("strips.tif").bytes, limits: DecodingLimits(maximumTime: .nanoseconds(1)))?.message
    )
  }

  @Test func `bombs are rejected before memory is allocated for them`() {
    func error(_ more: [Int: [Int]]) -> ImageError? {
      var page = Self.page
      page.fields.merge(more) { $1 }
      return TIFF.error(TIFFFile(page).bytes)
    }
    #expect(error([256: [60_000], 257: [60_000]])?.kind == .dimensions(maximumPixels: 100_000_000))
    #expect(error([256: [0]])?.kind == .undecodable)
    #expect(error([257: [0]])?.kind == .undecodable)
    #expect(error([279: [Int(UInt32.max)], 259: [5]])?.kind == .undecodable)
    // Many samples, rows or strips, and tiles much larger than the image.
    #expect(error([258: Array(repeating: 16, count: 65_535), 277: [65_535], 256: [10_000], 257: [10_000]])?.isOfMemory == true)
    #expect(error([278: [1], 256: [1], 257: [99_000_000]])?.kind == .undecodable)
    #expect(error([322: [1 << 31], 323: [1 << 31]])?.isOfMemory == true)
    #expect(error([322: [65_520], 323: [65_520]])?.isOfMemory == true)
    // A field whose values take most of the file, many times.
    var page = TIFFFile.Page(width: 4, height: 4, Array(repeating: 7, count: 3_000_000))
    for tag in 0..<3_000 { page.fields[40_000 + tag] = [0] }
    var bytes = TIFFFile(page).bytes
    var at = bytes.count - 4 - 12
    while Int(bytes[at + 1]) >= 40_000 >> 8 {
      bytes.replaceSubrange(at + 2..<at + 8, with: [1, 0, 0, 0, 32, 0])
      bytes[at + 8] = 8
      at -= 12
    }
    #expect(TIFF.error(bytes)?.isOfMemory == true)
  }

  @Test func `damaged fax rows are a warning, and missing ones an error`() throws {
    let bytes = FixtureImage.named("group3.tif").bytes
    var warnings: [String] = []
    for offset in 20..<bytes.count - 200 where warnings.isEmpty {
      var damaged = bytes
      damaged[offset] ^= 1
      warnings = (try? Standard.prove(damaged).warnings) ?? []
      if !warnings.isEmpty { #expect(try Standard.decode(damaged).warnings == warnings) }
    }
    #expect(warnings.first?.hasPrefix("libtiff: ") == true, "\(warnings)")
  }
}

extension ImageError {
  fileprivate var isOfMemory: Bool {
    if case .memory = kind { true } else { false }
  }
}
