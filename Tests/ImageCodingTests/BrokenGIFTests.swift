import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("broken GIFs") struct BrokenGIFTests {
  /// The warnings of decoding, which must equal those of verifying.
  private func warnings(_ bytes: [UInt8]) throws -> [String] {
    let warnings = try Standard.decode(bytes).warnings
    #expect(try Standard.prove(bytes).warnings == warnings)
    return warnings
  }

  private func twoFrames() -> GIFMaker {
    var gif = GIFMaker(width: 2, height: 1)
    gif.picture([0, 1], width: 2)
    gif.picture([2, 3], width: 2)
    return gif
  }

  @Test(
    arguments: [
      ([0, 1], "Failed to read from given file"),  // Too few pixels.
      ([4, 0, 5], "Image EOF detected before image complete"),
      ([4, 6, 0, 5], "Image is defective, decoding aborted"),  // An entry in an empty table.
      ([4, 0, 7, 5], "Image is defective, decoding aborted"),  // The entry after the next one.
    ]
  )
  func `undefined LZW codes are errors`(_ codes: [Int], words: String) {
    var gif = GIFMaker(width: 4, height: 1)
    gif.descriptor(width: 4, height: 1)
    gif.codes(codes)
    let error = rejection(codes == [0, 1] ? Array(gif.bytes.dropLast(2)) : gif.finished)
    #expect(error?.kind == .undecodable)
    #expect(error?.message == "giflib: \(words), in frame 1")
  }

  @Test func `an LZW entry may be the one that its own code adds`() throws {
    var gif = GIFMaker(width: 3, height: 1)
    gif.descriptor(width: 3, height: 1)
    gif.codes([4, 1, 6, 5])
    #expect(try letters(Standard.decode(gif.finished).pixels) == "ggg")
    #expect(throws: Never.self) { try Standard.prove(gif.finished) }
  }

  @Test(arguments: [9, 12, 13, 255] as [UInt8]) func `LZW codes start with at most 8 bits`(_ size: UInt8) {
    var gif = GIFMaker(width: 1, height: 1)
    gif.descriptor(width: 1, height: 1)
    gif.codes([4, 0, 5], size: size)
    let error = rejection(gif.finished)
    #expect(error?.kind == .undecodable)
    #expect(error?.message == "giflib: a code size of \(size) bits, but at most 8 are supported, in frame 1")
  }

  @Test func `a file that ends inside a block is truncated; between blocks it only lacks its trailer`() throws {
    let whole = twoFrames()
    var one = GIFMaker(width: 2, height: 1)
    one.picture([0, 1], width: 2)
    for length in 6..<whole.finished.count {
      let bytes = Array(whole.finished[..<length])
      if length == whole.bytes.count || length == one.bytes.count {
        #expect(try warnings(bytes) == ["giflib: the file ends without a trailer"], "\(length)")
      } else if length == whole.bytes.count - 1 || length == one.bytes.count - 1 {
        #expect(try warnings(bytes).count == 2, "\(length)")
        #expect(try warnings(bytes).first?.hasPrefix("giflib: the file ends after the pixels of frame ") == true, "\(length)")
      } else {
        #expect(rejection(bytes)?.kind == .undecodable, "\(length)")
      }
    }
  }

  @Test func `an announced frame that doesn't follow is missing`() {
    var gif = twoFrames()
    gif.control()
    expectGolden(rejection(gif.bytes)?.message)
    #expect(throws: Never.self) { try Standard.prove(gif.finished) }
  }

  @Test func `an unknown block ends the animation with a warning`() throws {
    var gif = twoFrames()
    gif.append([0, 0x2C, 0x21])
    expectGolden(try warnings(gif.finished).joined(separator: "\n"))
    #expect(try Standard.header(gif.finished).frames == 2)
    var first = GIFMaker(width: 1, height: 1)
    first.append([0])
    first.picture([0], width: 1)
    expectGolden(rejection(first.finished)?.message)
  }

  @Test func `data after the trailer is ignored`() throws {
    #expect(try warnings(twoFrames().finished + Array("!,;garbage".utf8)) == [])
  }

  @Test(arguments: [(0, 1), (1, 0), (0, 0)])
  func `a frame of 0 pixels shows nothing on a screen that has some`(width: Int, height: Int) throws {
    var first = GIFMaker(width: 0, height: 0)
    first.picture([0], width: width, height: height)
    expectGolden(rejection(first.finished)?.message)
    var second = GIFMaker(width: 2, height: 2)
    second.picture([0, 0, 0, 0], width: 2)
    second.picture([0], left: 1, top: 9, width: width, height: height)
    second.picture([2], width: 1)
    #expect(try warnings(second.finished) == [])
    #expect(try Standard.decode(second.finished).animation?.frames.map { letters($0.pixels) } == ["rrrr", "rrrr", "brrr"])
    var only = GIFMaker(width: 3, height: 2)
    only.picture([0], left: 9, top: 9, width: width, height: height)
    #expect(try warnings(only.finished) == [])
    #expect(try Standard.header(only.finished).size == ImageSize(width: 3, height: 2))
  }

  /// Files that counters and placeholders on the web consist of.
  @Test(
    arguments: [
      // 26 and 34 bytes: a picture of 1 pixel without codes.
      ("R0lGODlhAQABAAD/ACwAAAAAAQABAAACADs=", 0), ("R0lGODlhAQABAAAAACH5BAEAAAAALAAAAAABAAEAAAIAOw==", 0),
      // 32 to 43 bytes.
      ("R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==", 0), ("R0lGODdhAQABAIAAAP///////ywAAAAAAQABAAACAkQBADs=", 0),
      ("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", 0),
      ("R0lGODlhAQABAPAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==", 0),
      // The code that ends the picture before its pixel.
      ("R0lGODlhAQABAAAAACwAAAAAAQABAAACASwAOw==", 0),
      // Without the trailer; without the end of the picture.
      ("R0lGODlhAQABAAD/ACwAAAAAAQABAAACAA==", 1), ("R0lGODlhAQABAAAAACwAAAAAAQABAAAC", 2),
    ]
  )
  func `tracking GIFs are good, whether or not they have a pixel`(base64: String, warningCount: Int) throws {
    let bytes = Array(Data(base64Encoded: base64)!)
    #expect(try warnings(bytes).count == warningCount)
    #expect(try Standard.header(bytes).size == ImageSize(width: 1, height: 1))
    #expect(try Standard.decode(bytes).pixels.bytes.count == 4)
  }

  @Test func `a larger picture without codes shows nothing, which is a warning`() throws {
    var gif = GIFMaker(width: 2, height: 1)
    gif.descriptor(width: 2, height: 1)
    gif.append([2, 0])
    expectGolden(try warnings(gif.finished).joined(separator: "\n"))
  }

  @Test func `many pixels claimed by few bytes are rejected, by screen and by frame`() {
    var screen = GIFMaker(width: 65_535, height: 65_535)
    screen.picture([0], width: 1)
    #expect(rejection(screen.finished)?.kind == .dimensions(maximumPixels: 100_000_000))
    var first = GIFMaker(width: 1, height: 1)
    first.picture([0], left: 65_535, top: 65_535, width: 65_535, height: 65_535)
    #expect(try! Standard.header(first.finished).size == ImageSize(width: 131_070, height: 131_070))
    #expect(rejection(first.finished)?.kind == .dimensions(maximumPixels: 100_000_000))
    var second = GIFMaker(width: 1, height: 1)
    second.picture([0], width: 1)
    second.picture([0], width: 65_535, height: 65_535)
    #expect(rejection(second.finished)?.kind == .dimensions(maximumPixels: 100_000_000))
  }

  @Test func `thousands of large frames in few bytes stop at their memory limit`() throws {
    var gif = GIFMaker(width: 1_000, height: 1_000)
    for _ in 0..<1_000 { gif.picture([0], width: 1) }
    #expect(gif.finished.count < 20_000)
    let limits = DecodingLimits()
    let error = imageError { try Standard.decode(gif.finished, limits: limits) }
    #expect(error?.kind == .memory(maximumBytes: 1_667_108_864))
    #expect(throws: Never.self) { try Standard.prove(gif.finished, limits: limits) }
    #expect(throws: Never.self) { try Standard.decode(gif.finished, options: DecodingOptions(firstFrameOnly: true)) }
    #expect(rejection(gif.finished, DecodingLimits(maximumFrames: 999))?.kind == .undecodable)
  }

  @Test func `the number of blocks is limited`() {
    var gif = GIFMaker(width: 1, height: 1)
    for _ in 0..<100 { gif.control() }
    gif.picture([0], width: 1)
    let error = rejection(gif.finished, DecodingLimits(maximumChunks: 100))
    expectGolden(error?.message)
    #expect(rejection(gif.finished, DecodingLimits(maximumChunks: 102)) == nil)
  }

  @Test func `a header needs data up to the first frame's descriptor`() throws {
    var gif = GIFMaker(width: 2, height: 1)
    gif.application("XMP DataXMP", [UInt8](repeating: 1, count: 200))
    let before = gif.bytes.count
    gif.picture([0, 1], width: 2)
    for length in 6..<before + 9 {
      let error = imageError { try Standard.header(gif.finished, prefix: length) }
      guard case .needsMoreBytes(let minimum)? = error?.kind else {
        Issue.record("\(length): \(String(describing: error))")
        continue
      }
      #expect(minimum > length)
      #expect(imageError { try Standard.header(Array(gif.finished[..<length])) }?.kind == .undecodable)
    }
    #expect(try Standard.header(gif.finished, prefix: before + 9).size == ImageSize(width: 2, height: 1))
  }
}
