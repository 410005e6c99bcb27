import ImageCoding
import Base
import TestSupport
import Testing

@Suite("the coder registry") struct ImageCoderRegistryTests {
  private struct Rejecting: StubCoder {
    func canDecode(_ format: ImageFormat) -> Bool { format == .gif || format == .png }
  }

  @Test func `the standard registry decodes every format`() {
    #expect(ImageFormat.allCases.filter { ImageCoderRegistry.standard.coder(for: $0) == nil } == [])
  }

  @Test func `the coder added last is tried first`() {
    var registry = ImageCoderRegistry.standard
    registry.add(Rejecting())
    #expect(registry.coder(for: .png) is Rejecting)
    #expect(registry.coder(for: .gif) is Rejecting)
    #expect(registry.coder(for: .jpeg) is JPEGCoder)
  }

  @Test func `a removed format has no coder until one is added`() {
    var registry = ImageCoderRegistry.standard
    let description = registry.description
    registry.remove(.png)
    #expect(registry.coder(for: .png) == nil && registry.encoder(for: .png) == nil)
    #expect(registry.coder(for: .gif) is GIFCoder && registry.encoder(for: .jpeg) is JPEGCoder)
    #expect(registry.description != description)
    registry.add(Rejecting())
    #expect(registry.coder(for: .png) is Rejecting)
  }
}
