import ImageCoding
import Base
import Testing

/// Pixels as letters: red, green, blue, white, black, and a dot for transparent.
func letters(_ pixels: PixelBuffer) -> String {
  stride(from: 0, to: pixels.bytes.count, by: 4).map { offset in
    switch Array(pixels.bytes[offset..<offset + 4]) {
    case [255, 0, 0, 255]: "r"
    case [0, 255, 0, 255]: "g"
    case [0, 0, 255, 255]: "b"
    case [255, 255, 255, 255]: "w"
    case [0, 0, 0, 255]: "k"
    case let pixel: pixel[3] == 0 ? "." : "?"
    }
  }.joined()
}

@Suite("GIF pictures") struct GIFTests {
  private func decodedLetters(_ gif: GIFMaker) throws -> String { letters(try Standard.decode(gif.finished).pixels) }

  @Test(arguments: ["GIF87a", "GIF89a"])
  func `both versions decode with global and local colour tables`(version: String) throws {
    var gif = GIFMaker(width: 2, height: 2, version: version)
    gif.picture([0, 1, 2, 3], width: 2)
    #expect(try decodedLetters(gif) == "rgbw")

    var local = GIFMaker(width: 2, height: 2, version: version)
    local.picture([0, 1, 2, 3], width: 2, colors: GIFMaker.colors.reversed())
    #expect(try decodedLetters(local) == "wbgr")
  }

  @Test func `missing colours are grey without a table, and black beyond its end`() throws {
    var grey = GIFMaker(width: 4, height: 1, colors: nil)
    grey.picture([0, 1, 2, 3], width: 4)
    #expect(try Standard.decode(grey.finished).pixels.bytes == [0, 0, 0, 255, 1, 1, 1, 255, 2, 2, 2, 255, 3, 3, 3, 255])

    var beyond = GIFMaker(width: 4, height: 1, colors: nil)
    beyond.append([0x2C, 0, 0, 0, 0, 4, 0, 1, 0, 0x80, 255, 0, 0, 0, 255, 0])
    beyond.codes(GIFMaker.codes(for: [0, 1, 2, 3]))
    #expect(try decodedLetters(beyond) == "rgkk")
  }

  @Test func `interlaced rows are read in four passes`() throws {
    // Rows in stored order: every eighth from the first and the fifth, every fourth from the third, every second from the second.
    let stored: [UInt8] = [0, 8, 4, 2, 6, 1, 3, 5, 7].map { $0 % 4 }
    var gif = GIFMaker(width: 1, height: 9)
    gif.picture(stored, width: 1, isInterlaced: true)
    #expect(try decodedLetters(gif) == "rgbwrgbwr")
  }

  @Test func `a small first frame is surrounded by the background, or transparent pixels`() throws {
    var opaque = GIFMaker(width: 3, height: 2, background: 2)
    opaque.picture([1], left: 1, top: 1, width: 1)
    #expect(try decodedLetters(opaque) == "bbbbgb")
    #expect(try !Standard.header(opaque.finished).hasAlpha)

    var transparent = GIFMaker(width: 3, height: 2, background: 2)
    transparent.control(transparent: 3)
    transparent.picture([1, 3], left: 1, top: 1, width: 2)
    #expect(try decodedLetters(transparent) == "....g.")
    #expect(try Standard.header(transparent.finished).hasAlpha)
  }

  @Test(arguments: [(0, 0), (1, 1), (2, 5)]) func `a first frame outside the screen enlarges it`(width: Int, height: Int) throws {
    var gif = GIFMaker(width: width, height: height)
    gif.picture([1, 1], left: 2, top: 1, width: 2)
    let size = ImageSize(width: 4, height: max(2, height))
    #expect(try Standard.header(gif.finished).size == size)
    #expect(try letters(Standard.decode(gif.finished).pixels).prefix(8) == "rrrrrrgg")
  }

  @Test func `parts of later frames outside the screen are dropped`() throws {
    var gif = GIFMaker(width: 2, height: 2)
    gif.picture([0, 0, 0, 0], width: 2)
    gif.picture([1, 2, 3, 3], left: 1, top: 1, width: 2)
    gif.picture([1], left: 70, top: 70, width: 1)
    let frames = try #require(try Standard.decode(gif.finished).animation).frames
    #expect(frames.map { letters($0.pixels) } == ["rrrr", "rrrg", "rrrg"])
  }

  @Test func `a frame is kept, is cleared to the background, or restores the previous contents`() throws {
    var gif = GIFMaker(width: 3, height: 1, background: 3)
    gif.control(disposal: 1)
    gif.picture([0, 0, 0], width: 3)
    gif.control(disposal: 3)
    gif.picture([1], left: 0, width: 1)
    gif.control(disposal: 2)
    gif.picture([2], left: 1, width: 1)
    gif.control(disposal: 0)
    gif.picture([2], left: 2, width: 1)
    gif.control(disposal: 7)
    gif.picture([1], left: 0, width: 1)
    gif.picture([1], left: 1, width: 1)
    let frames = try #require(try Standard.decode(gif.finished).animation).frames
    #expect(frames.map { letters($0.pixels) } == ["rrr", "grr", "rbr", "rwb", "gwb", "ggb"])
  }

  @Test func `a frame with a transparent colour is cleared to transparent`() throws {
    var gif = GIFMaker(width: 2, height: 1)
    gif.picture([0, 0], width: 2)
    gif.control(disposal: 2, transparent: 3)
    gif.picture([3, 1], width: 2)
    gif.picture([2], width: 1)
    let image = try Standard.decode(gif.finished)
    #expect(try #require(image.animation).frames.map { letters($0.pixels) } == ["rr", "rg", "b."])
    #expect(image.header.hasAlpha)
  }

  @Test func `loops are counted as in the file, in either extension, and once by default`() throws {
    func loopCount(_ change: (inout GIFMaker) -> Void) throws -> Int? {
      var gif = GIFMaker(width: 1, height: 1)
      change(&gif)
      gif.picture([0], width: 1)
      gif.picture([1], width: 1)
      return try Standard.decode(gif.finished).animation?.loopCount
    }
    #expect(try loopCount { _ in } == 1)
    #expect(try loopCount { $0.loops(0) } == 0)
    #expect(try loopCount { $0.loops(7, name: "ANIMEXTS1.0") } == 7)
    #expect(try loopCount { $0.loops(0xFFFF) } == 65_535)
    #expect(try loopCount { $0.loops(7, name: "SOMETHING1.0") } == 1)
    #expect(try loopCount { $0.application("NETSCAPE2.0", [2, 9, 9, 9, 9]) } == 1)
  }

  @Test func `durations are hundredths of a second, and those below 11 ms count as 100 ms`() throws {
    var gif = GIFMaker(width: 1, height: 1)
    for centiseconds in [0, 1, 2, 65_535] {
      gif.control(centiseconds: centiseconds)
      gif.picture([0], width: 1)
    }
    gif.picture([1], width: 1)
    let frames = try #require(try Standard.decode(gif.finished).animation).frames
    #expect(frames.map(\.duration) == [100, 100, 20, 655_350, 100].map { .milliseconds($0) })
  }

  @Test func `the header names the profile, and a still image isn't animated`() throws {
    var gif = GIFMaker(width: 2, height: 1)
    gif.loops(0)
    var profile = [UInt8](repeating: 0, count: 128) + [0, 0, 0, 1] + Array("desc".utf8) + [0, 0, 0, 144, 0, 0, 0, 20]
    profile += Array("desc".utf8) + [0, 0, 0, 0, 0, 0, 0, 5] + Array("Mine\0".utf8)
    gif.application("ICCRGBG1012", Array(profile[..<100]), Array(profile[100...]))
    gif.picture([0, 1], width: 2)
    let header = try Standard.header(gif.finished)
    #expect(header.profile == ICCProfile(name: "Mine"))
    #expect(header.colorSpace == .indexed)
    #expect(header.frames == 1 && !header.isAnimated)
    #expect(try Standard.decode(gif.finished).animation == nil)
    #expect(try Standard.header(gif.finished, prefix: gif.bytes.count - 3).isAnimated)
  }
}
