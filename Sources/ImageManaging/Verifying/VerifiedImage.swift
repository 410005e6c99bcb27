import ImageCoding
import ImagePrimitives

/// What a verified body turned out to be.
struct VerifiedImage: Sendable {
  var format: ImageFormat?
  /// 0 × 0 where the header was not read.
  var size = ImageSize(width: 0, height: 0)
  var frames = 1
  var proof: ProofDepth = .none
  var contentTypeMatch: ContentTypeMatch
  var warnings: [String] = []
}

/// A body that was proven, with its pixels where they were asked for.
struct ProvenBody {
  var verified: VerifiedImage
  var decoded: DecodedImage?
}

/// What was made of a good body.
struct ProcessedImage: Sendable {
  var verified: VerifiedImage
  /// What was made of it beyond the proof; nil for a body that was only proven, as most are.
  var product: Product?

  /// What becomes of a body beyond its proof.
  final class Product: Sendable {
    /// The image as it is delivered and remembered: transformed, where the context transforms.
    let image: DecodedImage?
    /// What it was before, where that is to be remembered too.
    let original: DecodedImage?
    /// The bytes, where the context's delivery asks for them.
    let data: [UInt8]?
    /// How the declared content type fits the format, for who finds the image in memory.
    let contentTypeMatch: ContentTypeMatch
    /// What goes to disk.
    let stored: Stored
    /// The bytes of the transformed image that go to disk.
    let transformed: SerializedImage?

    init(
      image: DecodedImage? = nil,
      original: DecodedImage? = nil,
      data: [UInt8]? = nil,
      contentTypeMatch: ContentTypeMatch,
      stored: Stored = .asItCame,
      transformed: SerializedImage? = nil
    ) {
      self.image = image
      self.original = original
      self.data = data
      self.contentTypeMatch = contentTypeMatch
      self.stored = stored
      self.transformed = transformed
    }

    /// Bytes of pixels that it holds.
    var pixelBytes: Int { (image?.pixels.bytes.count ?? 0) + (original?.pixels.bytes.count ?? 0) }

    /// What of it goes out with a completion.
    func payload(for delivery: LoadDelivery) -> LoadPayload? {
      delivery.isEmpty ? nil : LoadPayload(image: delivery.contains(.image) ? image : nil, data: data)
    }
  }

  enum Stored: Sendable {
    case asItCame
    case instead(SerializedImage)
    case nothing
  }

  var stored: Stored { product?.stored ?? .asItCame }
}

/// Bytes that a serializer made, with what they were found to be.
struct SerializedImage: Sendable {
  let bytes: [UInt8]
  let verified: VerifiedImage
}
