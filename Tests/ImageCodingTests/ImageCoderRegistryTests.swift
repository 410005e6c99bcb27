import ImageCoding
import ImagePrimitives
import Testing

@Suite("the coder registry") struct ImageCoderRegistryTests {
  private struct Rejecting: ImageCoder {
    func canDecode(_ format: ImageFormat) -> Bool { format == .gif || format == .png }
    func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
      throw ImageError(.undecodable, "rejected")
    }
    func decode(
      _ bytes: UnsafeRawBufferPointer,
      options: DecodingOptions,
      limits: DecodingLimits
    ) throws(ImageError) -> DecodedImage {
      throw ImageError(.undecodable, "rejected")
    }
    func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof {
      throw ImageError(.undecodable, "rejected")
    }
  }

  @Test("the standard registry decodes all formats that are built in") func standardReadsAllThatIsBuiltIn() {
    var expected: Set<ImageFormat> = [.jpeg, .png, .gif, .webp, .bmp, .svg, .ico]
    #if AVIF
    expected.insert(.avif)
    #endif
    #if RareFormats
    expected.formUnion([.heic, .tiff, .jpegXL])
    #endif
    #expect(Set(ImageFormat.allCases.filter { ImageCoderRegistry.standard.coder(for: $0) != nil }) == expected)
  }

  @Test("the coder added last is tried first") func theCoderAddedLastIsAskedFirst() {
    var registry = ImageCoderRegistry.standard
    registry.add(Rejecting())
    #expect(registry.coder(for: .png) is Rejecting)
    #expect(registry.coder(for: .gif) is Rejecting)
    #expect(registry.coder(for: .jpeg) is JPEGCoder)
  }

  @Test("a removed coder isn't used") func aRemovedCoderIsNotAsked() {
    var registry = ImageCoderRegistry.standard
    registry.add(Rejecting())
    registry.remove(Rejecting.self)
    #expect(registry.coder(for: .png) is PNGCoder)
    #expect(registry.coder(for: .gif) is GIFCoder)
    registry.remove(GIFCoder.self)
    #expect(registry.coder(for: .gif) == nil)
  }
}
