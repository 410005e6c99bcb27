import PrewarmImages
import TestSupport
import Testing

@Suite struct CodersAloneExampleTests {
  private let photo = SampleImages.jpeg(1)

  @Test func `a thumbnail is a JPEG that fits its box`() throws {
    let header = try ImageCoderRegistry.standard.header(of: thumbnail(of: photo))
    #expect(header.format == .jpeg && header.size == ImageSize(width: 32, height: 24))
    #expect(throws: ImageError.self) {
      try thumbnail(of: Array("<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>".utf8))
    }
  }

  @Test func `bytes are described`() {
    #expect(describe(photo) == "jpeg, 32 x 24 pixels, 0 warnings")
    #expect(describe(Array(photo.dropLast(photo.count / 2))).hasPrefix("broken jpeg: "))
    #expect(describe(Array("hello".utf8)) == "not an image")
  }

  @Test func `an avatar is a round PNG`() throws {
    let avatar = try ImageCoderRegistry.standard.decode(makeAvatar(ImageCoderRegistry.standard.decode(photo)))
    // Images aren't enlarged.
    #expect(avatar.header.format == .png && avatar.pixels.size == ImageSize(width: 24, height: 24))
    #expect(avatar.pixels.bytes[3] == 0 && avatar.header.hasAlpha)
  }
}
