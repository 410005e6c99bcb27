import ImageCoding
import ImageManaging
import ImagePrimitives
import Testing

@Suite("K2: the coders of a manager") struct AvailableCodersTests {
  @Test func areTheStandardOnesAndAVIFWhereItIsBuiltIn() {
    let coders = ImageManager.Configuration().coders
    for format in [.jpeg, .png, .webp] as [ImageFormat] { #expect(coders.coder(for: format) != nil) }
    #if AVIF
      #expect(coders.coder(for: .avif) != nil)
    #else
      #expect(coders.coder(for: .avif) == nil)
    #endif
  }
}
