import ImageCoding
import Base
import Testing

@Suite("good images") struct GoodImageTests {
  @Test(
    arguments: [
      ("rgba.png", true), ("rgb.png", false), ("palette-alpha.png", true), ("palette.png", false), ("transparent-key.png", true),
      ("alpha.webp", true), ("lossy.webp", false), ("photo.jpg", false),
    ]
  )
  func `the header reports alpha`(name: String, hasAlpha: Bool) throws {
    #expect(try Standard.header(FixtureImage.named(name).bytes).hasAlpha == hasAlpha)
  }

  @Test func `the header of a complete animation counts its frames`() throws {
    #expect(try Standard.header(FixtureImage.named("animated.webp").bytes).frames == 2)
    #expect(try Standard.header(FixtureImage.named("lossy.webp").bytes).frames == 1)
  }
}
