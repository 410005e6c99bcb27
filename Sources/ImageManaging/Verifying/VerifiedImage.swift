import ImageCaching
import ImageCoding
import ImagePrimitives

/// What a verified body turned out to be.
struct VerifiedImage: Sendable {
  var format: ImageFormat?
  /// 0 × 0 where the header was not read.
  var size = ImageSize(width: 0, height: 0)
  var frames = 1
  var isAnimated = false
  var proof: ProofDepth = .none
  var contentTypeMatch: ContentTypeMatch
  /// What is odd, the decoder's words included.
  var warnings: [String] = []
  /// Whether the decoder found anything odd.
  var hasDecoderWarnings = false
}

/// A verified body, and what was made of it beyond the proof; nil if it was only proven, as most are.
typealias ProcessedBody = (verified: VerifiedImage, product: ImageProduct?)

/// What becomes of a body beyond its proof.
final class ImageProduct: Sendable {
  /// The image as it is delivered and remembered: transformed, where the context transforms.
  let image: DecodedImage?
  /// What it was before, where that is to be remembered too.
  let original: DecodedImage?
  /// The bytes, where the context's delivery asks for them.
  let data: [UInt8]?
  /// What the record of the image as it came says, or would say, for who finds the image in memory.
  let head: EntryHead
  /// The same of the transformed image; nil where it was not transformed.
  let shown: EntryHead?
  /// Whether the rules of a job say nothing of `head`, as that is of a transformed image found on disk.
  let isJudged: Bool
  /// The request headers that the answer depends on, as a record keeps them.
  let vary: [UInt8]
  /// Whether memory may keep it.
  let isRemembered: Bool
  /// What goes to disk.
  let stored: Stored
  /// The bytes of the transformed image that go to disk.
  let transformed: SerializedImage?

  init(
    image: DecodedImage? = nil,
    original: DecodedImage? = nil,
    data: [UInt8]? = nil,
    head: EntryHead,
    shown: EntryHead? = nil,
    isJudged: Bool = false,
    vary: [UInt8],
    stored: Stored = .asItCame,
    transformed: SerializedImage? = nil
  ) {
    self.image = image
    self.original = original
    self.data = data
    self.head = head
    self.shown = shown
    self.isJudged = isJudged
    self.vary = vary
    self.stored = stored
    isRemembered = true
    self.transformed = transformed
  }

  /// The same for who waits for it alone: it is not kept in memory.
  var unremembered: ImageProduct { ImageProduct(delivered: self) }

  private init(delivered product: ImageProduct) {
    (image, original, data, vary) = (product.image, nil, product.data, product.vary)
    (head, shown, isJudged) = (product.head, product.shown, product.isJudged)
    (stored, transformed, isRemembered) = (.nothing, nil, false)
  }

  /// Bytes that it holds: pixels, and what goes to disk of a transformed image.
  var heldBytes: Int { (image?.byteCount ?? 0) + (original?.byteCount ?? 0) + (transformed?.bytes.count ?? 0) }

  /// What of it goes out with a completion.
  func payload(for delivery: LoadDelivery) -> LoadPayload? {
    delivery.isEmpty ? nil : LoadPayload(image: delivery.contains(.image) ? image : nil, data: data)
  }

  enum Stored: Sendable {
    case asItCame
    case instead(SerializedImage)
    case nothing
  }
}

/// Bytes that an encoder or a serializer made, with what they were found to be.
struct SerializedImage: Sendable {
  let bytes: [UInt8]
  let verified: VerifiedImage
}

extension EntryHead {
  /// What is shown of the transformed image: its bytes where it has some, and otherwise those that it was made of.
  func showing(_ image: DecodedImage, _ serialized: SerializedImage?) -> EntryHead {
    var head = self
    let size = serialized?.verified.size ?? image.pixels.size
    head.width = UInt32(clamping: size.width)
    head.height = UInt32(clamping: size.height)
    head.frames = UInt32(clamping: serialized?.verified.frames ?? image.animation?.frames.count ?? 1)
    guard let serialized else { return head }
    head.format = serialized.verified.format
    head.bodySize = UInt64(serialized.bytes.count)
    head.checksum = serialized.bytes.withRawBytes { ImageCaching.checksum(of: $0) }
    return head
  }

  /// What `other` shows, of the age and freshness of this one.
  func showing(_ other: EntryHead) -> EntryHead {
    var head = self
    (head.format, head.width, head.height, head.frames) = (other.format, other.width, other.height, other.frames)
    (head.bodySize, head.checksum) = (other.bodySize, other.checksum)
    return head
  }
}
