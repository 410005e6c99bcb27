import ImageCoding
import Testing

@Suite("K10: the scale factor in a name") struct ImageScaleTests {
  @Test(
    "K10: two and three before a dot, also percent-encoded",
    arguments: [
      ("a@2x.png", 2), ("a@3x.png", 3), ("https://example.com/i/a@2x.png", 2), ("https://example.com/i/a%403x.jpg?w=1", 3),
      ("a@2x.min.webp", 2), ("@2x.png", 2),
    ] as [(String, Double)]
  )
  func scaled(name: String, factor: Double) { #expect(ImageScale.factor(inName: name) == factor) }

  @Test(
    "K10: one for all others",
    arguments: [
      "a.png", "", "a@2x", "a@4x.png", "a2x.png", "@2x.d/a.png", "https://example.com/a.png?b=c@2x.png",
      "https://example.com/a.png#@3x.", "user@2x.example.com/a.png",
    ]
  )
  func unscaled(name: String) { #expect(ImageScale.factor(inName: name) == 1) }
}
