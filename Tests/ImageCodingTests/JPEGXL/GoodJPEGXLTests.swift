#if RareFormats
import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

@Suite("good JPEG XL images") struct GoodJPEGXLTests {
  @Test(arguments: JPEGXLImage.all) func `each good JPEG XL decodes to djxl's pixels`(_ image: JPEGXLImage) throws {
    let decoded = try JPEGXL.decode(image.bytes)
    #expect(decoded.pixels.size == image.size)
    #expect(decoded.warnings == [])
    for sample in image.samples {
      let offset = (sample[1] * image.size.width + sample[0]) * 4
      let pixel = decoded.pixels.bytes[offset..<offset + 4].map(Int.init)
      // Transparent pixels may have any colour.
      if sample[5] == 0, pixel[3] == 0 { continue }
      #expect(zip(pixel, sample[2...]).allSatisfy { abs($0 - $1) <= 2 }, "\(pixel) at \(sample)")
    }
  }

  @Test(arguments: JPEGXLImage.all) func `verifying returns the same header as parsing`(_ image: JPEGXLImage) throws {
    let proof = try JPEGXL.prove(image.bytes)
    #expect(proof.header == (try JPEGXL.decode(image.bytes).header))
    #expect(proof.header == (try JPEGXL.header(image.bytes)))
    #expect(proof.header.displaySize == image.size)
    #expect(proof.warnings == [])
  }

  @Test(arguments: JPEGXLImage.all)
  func `a header says how many bytes it needs, and that many suffice`(_ image: JPEGXLImage) throws {
    let bytes = image.bytes
    let complete = try JPEGXL.header(bytes)
    var length = bytes[0] == 0xFF ? 2 : 12
    while true {
      do {
        var header = try JPEGXL.header(bytes, prefix: length)
        #expect(length < 400, "\(length) bytes")
        #expect(header.isAnimated == complete.isAnimated)
        header.frames = complete.frames
        #expect(header == complete)
        return
      } catch let error as ImageError {
        guard case .needsMoreBytes(let minimum) = error.kind else { throw error }
        try #require(minimum > length && minimum <= bytes.count)
        length = minimum
      }
    }
  }

  @Test(arguments: JPEGXLImage.all)
  func `every prefix has the header, needs more bytes or is too short for the format`(_ image: JPEGXLImage) throws {
    let bytes = image.bytes
    for length in 0..<min(bytes.count, 600) {
      let error = imageError { try JPEGXL.header(bytes, prefix: length) }
      switch error?.kind {
      case nil: break
      case .needsMoreBytes(let minimum): #expect(minimum > length && minimum <= bytes.count)
      case .notAnImage: #expect(length < 12)
      default: Issue.record("\(length): \(error!.message)")
      }
    }
  }

  @Test func `a header has the file's properties`() throws {
    func header(_ name: String) throws -> ImageHeader { try JPEGXL.header(JPEGXLImage.named(name).bytes) }
    #expect(try header("photo.jxl") == ImageHeader(format: .jpegXL, size: ImageSize(width: 240, height: 160), colorSpace: .rgb))
    #expect(try header("alpha.jxl").hasAlpha)
    #expect(try header("grey.jxl").colorSpace == .gray)
    #expect(try header("profile.jxl").profile == ICCProfile(name: nil))
    let turned = try header("turned.jxl")
    #expect(turned.orientation == 6 && turned.displaySize == ImageSize(width: 80, height: 120))
    let animated = try header("animated.jxl")
    #expect(animated.frames == 3 && animated.isAnimated)
  }

  @Test func `an Exif box has the position and the resolution, but the codestream has the orientation`() throws {
    let header = try JPEGXL.header(JPEGXLImage.named("located.jxl").bytes)
    #expect(header.hasPosition)
    #expect(header.dpi == 240)
    #expect(header.orientation == 1)
  }

  @Test func `a codestream in pieces has the same pixels as in one`() throws {
    let whole = try JPEGXL.decode(JPEGXLImage.named("photo.jxl").bytes)
    #expect(try JPEGXL.decode(JPEGXLImage.named("pieces.jxl").bytes) == whole)
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
    let header = try JPEGXL.header(file)
    #expect(header.hasPosition && header.dpi == 300 && header.size == ImageSize(width: 16, height: 8))
    #expect(try JPEGXL.prove(file).header == header)
    let prefixed = try JPEGXL.header(file, prefix: file.count - 8)
    #expect(prefixed.hasPosition && prefixed.dpi == 300)
    // Damaged, it is missing.
    let start = try #require((4..<file.count).first { file[$0 - 4..<$0] == [0x62, 0x72, 0x6F, 0x62] })
    var damaged = file
    for offset in start + 4..<start + 60 { damaged[offset] ^= 0xFF }
    #expect(try JPEGXL.header(damaged).hasPosition == false)
  }

  @Test func `a box header beyond a prefix is needed without the bytes before it`() throws {
    let file = Self.compressedMetadata
    let padding = 2 << 20
    let length = (0..<4).map { UInt8(truncatingIfNeeded: (padding + 8) >> (24 - 8 * $0)) }
    let padded = file[..<32] + length + "free".utf8 + [UInt8](repeating: 0, count: padding) + file[32...]
    let error = try #require(imageError { try JPEGXL.header(Array(padded), prefix: 1000) })
    #expect(error.neededStart == padding + 32 && error.kind == .needsMoreBytes(minimum: padding + 48))
    #expect(try JPEGXL.header(Array(padded), prefix: padding + 1000).size == ImageSize(width: 16, height: 8))
  }

  @Test(arguments: ["photo.jxl", "pieces.jxl", "located.jxl"])
  func `other data after the image is ignored`(_ name: String) throws {
    let bytes = JPEGXLImage.named(name).bytes
    let page = Array("<!DOCTYPE html><html></html>".utf8)
    #expect(try JPEGXL.decode(bytes + page) == JPEGXL.decode(bytes))
    #expect(try JPEGXL.prove(bytes + [0, 0, 0]).header == JPEGXL.header(bytes))
  }

  /// The displayed positions of the stored top left and top right corners.
  @Test(
    arguments: [
      (1, "top left", "top right"), (2, "top right", "top left"), (3, "bottom right", "bottom left"),
      (4, "bottom left", "bottom right"),
      (5, "top left", "bottom left"), (6, "top right", "bottom right"), (7, "bottom right", "top right"),
      (8, "bottom left", "top left"),
    ]
  )
  func `each orientation puts the corners in the right places`(orientation: Int, topLeft: String, topRight: String) throws {
    func turned(_ orientation: Int) throws -> DecodedImage {
      var bytes = JPEGXLImage.named("turned.jxl").bytes
      // 120 x 80 pixels have a short size with a ratio: 1 + 5 + 3 bits; then come default, extra fields and the orientation.
      let start = bytes.offset(of: "jxlc") + 4 + 2
      var head = (0..<3).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
      try #require(head >> 11 & 7 == 5 && head & 1 == 1)
      head = head & ~(7 << 11) | (orientation - 1) << 11
      for index in 0..<3 { bytes[start + index] = UInt8(truncatingIfNeeded: head >> (8 * index)) }
      return try JPEGXL.decode(bytes)
    }
    func pixel(_ image: PixelBuffer, _ corner: String) -> ArraySlice<UInt8> {
      let x = corner.hasSuffix("left") ? 0 : image.size.width - 1
      let y = corner.hasPrefix("top") ? 0 : image.size.height - 1
      return image.bytes[(y * image.size.width + x) * 4..<(y * image.size.width + x) * 4 + 4]
    }
    let stored = try turned(1).pixels
    let shown = try turned(orientation)
    #expect(shown.header.orientation == orientation)
    #expect(pixel(stored, "top left") != pixel(stored, "top right"))
    #expect(pixel(shown.pixels, topLeft) == pixel(stored, "top left"))
    #expect(pixel(shown.pixels, topRight) == pixel(stored, "top right"))
  }

  @Test(arguments: JPEGXLImage.all) func `a thumbnail fits its box`(_ image: JPEGXLImage) throws {
    let options = DecodingOptions(thumbnail: ImageSize(width: 30, height: 30))
    let thumbnail = try JPEGXL.decode(image.bytes, options: options)
    #expect(thumbnail.pixels.size == options.decodedSize(of: image.size))
    #expect(thumbnail.header == (try JPEGXL.header(image.bytes)))
    for frame in thumbnail.animation?.frames ?? [] { #expect(frame.pixels.size == thumbnail.pixels.size) }
  }

  @Test func `all frames of an animation are decoded with their durations`() throws {
    let image = try JPEGXL.decode(JPEGXLImage.named("animated.jxl").bytes)
    let animation = try #require(image.animation)
    #expect(animation.frames.map(\.duration) == [.milliseconds(200), .milliseconds(300), .milliseconds(200)])
    #expect(animation.loopCount == 0)
    #expect(animation.frames[0].pixels == image.pixels)
    #expect(animation.frames[1].pixels != animation.frames[0].pixels)
    #expect(animation.frames[2].pixels != animation.frames[1].pixels)
    let alpha = try #require(try JPEGXL.decode(JPEGXLImage.named("animated-alpha.jxl").bytes).animation)
    #expect(alpha.frames.map(\.duration) == [.milliseconds(100), .milliseconds(300)])
  }

  @Test func `the animation header sets the loop count`() throws {
    let bytes = JPEGXLImage.named("animated.jxl").bytes
    let original = try JPEGXL.decode(bytes)
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
        if let image = try? JPEGXL.decode(changed + bytes[headerBytes...]), image.pixels == original.pixels { return image }
      }
      return nil
    }
    #expect(images.first?.animation?.loopCount == 3)
  }

  @Test func `the first frame alone isn't animated`() throws {
    let bytes = JPEGXLImage.named("animated.jxl").bytes
    let first = try JPEGXL.decode(bytes, options: DecodingOptions(firstFrameOnly: true))
    #expect(first.animation == nil)
    #expect(first.pixels == (try JPEGXL.decode(bytes).pixels))
  }
}
#endif
