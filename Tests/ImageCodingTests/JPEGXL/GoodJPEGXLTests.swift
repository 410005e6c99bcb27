import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("good JPEG XL images") struct GoodJPEGXLTests {
  @Test func `a header has the file's properties`() throws {
    func header(_ name: String) throws -> ImageHeader { try Standard.header(FixtureImage.named(name).bytes) }
    #expect(try header("photo.jxl") == ImageHeader(format: .jpegXL, size: ImageSize(width: 240, height: 160), colorSpace: .rgb))
    #expect(try header("profile.jxl").profile == ICCProfile(name: nil))
    let turned = try header("turned.jxl")
    #expect(turned.orientation == 6 && turned.displaySize == ImageSize(width: 80, height: 120))
    let animated = try header("animated.jxl")
    #expect(animated.frames == 3 && animated.isAnimated)
  }

  @Test func `an Exif box has the position and the resolution, but the codestream has the orientation`() throws {
    let header = try Standard.header(FixtureImage.named("located.jxl").bytes)
    #expect(header.hasPosition)
    #expect(header.dpi == 240)
    #expect(header.orientation == 1)
  }

  @Test func `a codestream in pieces has the same pixels as in one`() throws {
    let whole = try Standard.decode(FixtureImage.named("photo.jxl").bytes)
    #expect(try Standard.decode(FixtureImage.named("pieces.jxl").bytes) == whole)
  }

  /// A recompressed JPEG by cjxl 0.7, whose Exif box is compressed.
  private static let compressedMetadata = Array(
    Data(
      base64Encoded: """
        AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAAARanhscAAAAAD/CsFBJAAAAeNqYnJkwHDbAIIgCC0DAkCoAKFGgZCrSgAAQMhR2YKhOP8niIwR
        yjinFLQfIUOYpQ4yzEDpDjVYHzKcfMyAQw4qLHLQsAPbRw39+yPLHHbcgYai+1+MccYkl2zyySinPDPNNdt8M845Cz000UUbfTTSSUs9NdVVW3011lmLPTbZ
        ZZt9Ntppyz033XXbfTfeeQs+OOGFG3444olHLvnklFdu+eWYZx666KOTXrrpp6Oeeuyyz0577bbfjnvuwQs/PPHFG3888slHL/301Fdv/fXYZw9++OKPT375
        5p+Pfvrwxy///PTXb//9+Of/r2CqqgQAQMhR2YKhOP8viIRSRlmnFInxgJDNqEGGSXWgoXqw4dxDjhlQkA8actBhBzYWWeao3+3Djhta0R95ZvBJhve/GOOM
        Szb5ZJRTprlmm2/GOWehhya6aKOPRjppqaemumqrr8Y6a7HHJrtss89GO22556a7brvvxjvvwAUfnPDCDT8c8cQjl3xyyiu3/HLMMw9d9NFJL93001FPPXbZ
        Z6e9dttvxz334IUfnvjijT8e+eSjl3566qu3/nrssw9f/PHJL9/889FPP37556e/fvvvxz//f4EfAKgsAAsIgOAAEEpGSUYAAQEAAAEAAQAAAwAAAGdicm9i
        RXhpZhujAAAEop3375UybEalJIOMdiPTbBnZ7LytBehFt4paksVPDy/wesPDQxmSAeieQ8s74CThDRJnSsXhVfgF42pRSvosbGfQS7h+0Es8N462WHw042OG
        nuH4ZQEAAADranhscIAAAAHgWwIQAGADDm4MbA5u/v8OAAAYAAgAAQAAAAAAgIAliRTIvEkPgKeZ4R4AgEKSgoLCXCTGYIJdQ6YxxxcCAI8UIPPPz+mIK8Ds
        OOwU7ygFuBNADLYOAUC4KnRWBgAAPBUCAIDIKgEAwAQAAADQEwAAAAAAAAAAAAAAAAAAACBFEuQGyfcS4hTiHagHizJt0mzRB/BShOYQugGYIQtEYUQhGxIA
        4MUAEC31BwFRQygrAL4SNkkDAADKQgIAQIk+AQDABAAAAGAvAAAAAAAAAAAAAAAAAAAAAAAAAAAAUJIA
        """,
      options: .ignoreUnknownCharacters
    )!
  )

  @Test func `metadata in a compressed box count`() throws {
    let file = Self.compressedMetadata
    let header = try Standard.header(file)
    #expect(header.hasPosition && header.dpi == 300 && header.size == ImageSize(width: 16, height: 8))
    #expect(try Standard.prove(file).header == header)
    let prefixed = try Standard.header(file, prefix: file.count - 8)
    #expect(prefixed.hasPosition && prefixed.dpi == 300)
    // Damaged, it is missing.
    let start = try #require((4..<file.count).first { file[$0 - 4..<$0] == [0x62, 0x72, 0x6F, 0x62] })
    var damaged = file
    for offset in start + 4..<start + 60 { damaged[offset] ^= 0xFF }
    #expect(try Standard.header(damaged).hasPosition == false)
  }

  @Test func `a box header beyond a prefix is needed without the bytes before it`() throws {
    let file = Self.compressedMetadata
    let padding = 2 << 20
    let length = (0..<4).map { UInt8(truncatingIfNeeded: (padding + 8) >> (24 - 8 * $0)) }
    let box: [UInt8] = length + Array("free".utf8) + [UInt8](repeating: 0, count: padding)
    let padded = Array(file[..<32]) + box + file[32...]
    let error = try #require(imageError { try Standard.header(padded, prefix: 1000) })
    #expect(error.neededStart == padding + 40 && error.kind == .needsMoreBytes(minimum: padding + 48))
    #expect(try Standard.header(padded, prefix: padding + 1000).size == ImageSize(width: 16, height: 8))
  }

  @Test(arguments: ["photo.jxl", "pieces.jxl", "located.jxl"])
  func `other data after the image is ignored`(_ name: String) throws {
    let bytes = FixtureImage.named(name).bytes
    let page = Array("<!DOCTYPE html><html></html>".utf8)
    #expect(try Standard.decode(bytes + page) == Standard.decode(bytes))
    #expect(try Standard.prove(bytes + [0, 0, 0]).header == Standard.header(bytes))
  }

  @Test func `the animation header sets the loop count`() throws {
    let bytes = FixtureImage.named("animated.jxl").bytes
    let original = try Standard.decode(bytes)
    // After the signature come 80 x 60 pixels in 15 bits, not default, extra fields, orientation, two flags, an animation and its
    // ticks in 12 bits, and then a selector of 0: forever. A selector of 1 is followed by a count in 3 bits.
    let selector = 16 + 27
    let bits = bytes.flatMap { byte in (0..<8).map { byte >> $0 & 1 } }
    try #require(bits[selector] == 0 && bits[selector + 1] == 0)
    let images = (10..<40).lazy.compactMap { headerBytes -> DecodedImage? in
      let header = Array(bits[..<selector]) + [1, 0, 1, 1, 0] + bits[(selector + 2)..<headerBytes * 8]
      // The padding after the header is zeros, which may have room for them.
      for padded in [headerBytes, headerBytes + 1] {
        var changed = [UInt8](repeating: 0, count: padded)
        for (index, bit) in header.enumerated() where index < padded * 8 { changed[index / 8] |= bit << UInt8(index % 8) }
        if let image = try? Standard.decode(changed + bytes[headerBytes...]), image.pixels == original.pixels { return image }
      }
      return nil
    }
    #expect(images.first?.animation?.loopCount == 3)
  }
}
