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
  /// The pixels, where they were asked for.
  var decoded: DecodedImage?
}

/// What was made of a good body.
struct ProcessedImage: Sendable {
  var verified: VerifiedImage
  /// The image as it is delivered and remembered: transformed, where the context transforms.
  var image: DecodedImage?
  /// What it was before, where that is to be remembered too.
  var original: DecodedImage?
  /// The bytes, where the context's delivery asks for them.
  var data: [UInt8]?
  /// What goes to disk.
  var stored = Stored.asItCame
  /// The bytes of the transformed image that go to disk.
  var transformed: SerializedImage?

  enum Stored: Sendable {
    case asItCame
    case instead(SerializedImage)
    case nothing
  }

  /// What of it goes out with a completion.
  func payload(for delivery: LoadDelivery) -> LoadPayload? {
    delivery.isEmpty ? nil : LoadPayload(image: delivery.contains(.image) ? image : nil, data: data)
  }
}

/// Bytes that a serializer made, with what they were found to be.
struct SerializedImage: Sendable {
  let bytes: [UInt8]
  let verified: VerifiedImage
}
