import ImageCoding
import Testing

@Suite("scale factors in names") struct ImageScaleTests {
  @Test(
    arguments: [
      ("a@2x.png", 2), ("a@3x.png", 3), ("https://example.com/i/a@2x.png", 2), ("https://example.com/i/a%403x.jpg?w=1", 3),
      ("a@2x.min.webp", 2), ("@2x.png", 2),
    ] as [(String, Double)]
  )
  func `@2x and @3x before a dot set the scale, even percent-encoded`(name: String, factor: Double) {
    #expect(ImageScale.factor(inName: name) == factor)
  }

  @Test(
    arguments: [
      "a.png", "", "a@2x", "a@4x.png", "a2x.png", "@2x.d/a.png", "https://example.com/a.png?b=c@2x.png",
      "https://example.com/a.png#@3x.", "user@2x.example.com/a.png",
    ]
  )
  func `all other URLs have a scale of one`(name: String) { #expect(ImageScale.factor(inName: name) == 1) }
}
