import ImageCoding
import Base
import Testing

@Suite("transformer keys, which must never change because caches store them") struct TransformerKeyTests {
  private static let keys: [(any ImageTransformer, String)] = [
    (ResizingTransformer(width: 400), "resize(400x-,inside)"),
    (ResizingTransformer(height: 300, fit: .inside), "resize(-x300,inside)"),
    (ResizingTransformer(width: 400, height: 300, fit: .cover), "resize(400x300,cover)"),
    (ResizingTransformer(width: 400, height: 300, fit: .fill), "resize(400x300,fill)"),
    (CroppingTransformer(PixelRectangle(x: 10, y: -20, width: 300, height: 200)), "crop(10,-20,300x200)"),
    (RoundCornerTransformer(radius: 12), "round-corners(12,all)"),
    (RoundCornerTransformer(radius: 0.5, corners: []), "round-corners(0.5,)"),
    (
      RoundCornerTransformer(radius: 12, corners: [.topLeft, .bottomRight], borderWidth: 1.5, borderColor: .white),
      "round-corners(12,top-left+bottom-right,1.5,#ffffffff)"
    ),
    (
      RoundCornerTransformer(radius: 1, corners: [.topRight, .bottomLeft], borderColor: .white),
      "round-corners(1,top-right+bottom-left)"
    ),
    (RotationTransformer(degrees: 90), "rotate(90)"),
    (RotationTransformer(degrees: -90, fitsSize: false), "rotate(270,same-size)"),
    (RotationTransformer(degrees: 372.5), "rotate(12.5)"),
    (RotationTransformer(degrees: -0.0), "rotate(0)"),
    (RotationTransformer(degrees: -1e-300), "rotate(0)"),
    (FlippingTransformer(horizontal: true), "flip(horizontal)"),
    (FlippingTransformer(vertical: true), "flip(vertical)"),
    (FlippingTransformer(horizontal: true, vertical: true), "flip(horizontal,vertical)"),
    (FlippingTransformer(), "flip()"),
    (TintTransformer(RGBAColor(red: 255, green: 0, blue: 10, alpha: 128)), "tint(#ff000a80,source-in)"),
    (TintTransformer(.black, blendMode: .sourceAtop), "tint(#000000ff,source-atop)"),
    (TintTransformer(.black, blendMode: .multiply), "tint(#000000ff,multiply)"),
    (TintTransformer(.black, blendMode: .screen), "tint(#000000ff,screen)"),
    (TintTransformer(.black, blendMode: .overlay), "tint(#000000ff,overlay)"),
    (CircleTransformer(), "circle"),
    (BlurTransformer(radius: 2), "blur(2)"),
    (BlurTransformer(radius: 0.1), "blur(0.1)"),
    (PipelineTransformer([]), ""),
    (
      PipelineTransformer([ResizingTransformer(width: 9), FlippingTransformer(horizontal: true)]),
      "resize(9x-,inside)-flip(horizontal)"
    ),
  ]

  @Test func `no built-in transformer's key has changed`() {
    for (transformer, key) in Self.keys { #expect(transformer.key == key) }
  }

  @Test func `no two transformers share a key`() {
    #expect(Set(Self.keys.map { $0.0.key }).count == Self.keys.count - 1)
  }
}
