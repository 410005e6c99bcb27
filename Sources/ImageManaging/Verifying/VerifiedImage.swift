import ImageCaching
import ImageCoding
import Base

struct VerifiedImage: Sendable {
  var image: ImageProperties
  var proof: ProofDepth = .none
  var contentTypeMatch: ContentTypeMatch
  var warnings: [String] = []
  /// Whether the decoder warned.
  var hasDecoderWarnings = false
}

/// A verified body and the results of further processing; nil if it was only verified, as most are.
typealias ProcessedBody = (verified: VerifiedImage, product: ImageProduct?)

/// The results of processing a body after its verification.
final class ImageProduct: Sendable {
  /// The image to deliver and remember: transformed if the context transforms.
  let image: DecodedImage?
  /// The original image, if it is to be remembered too.
  let original: DecodedImage?
  /// The bytes, if the context's delivery requests them.
  let data: [UInt8]?
  let known: KnownImage
  /// The bytes to store.
  let stored: Stored
  /// The bytes of the transformed image to store.
  let transformed: SerializedImage?

  init(
    image: DecodedImage? = nil,
    original: DecodedImage? = nil,
    data: [UInt8]? = nil,
    known: KnownImage,
    stored: Stored = .asItCame,
    transformed: SerializedImage? = nil
  ) {
    self.image = image
    self.original = original
    self.data = data
    self.known = known
    self.stored = stored
    self.transformed = transformed
  }

  /// The bytes that it holds: pixels, and stored bytes of a transformed image.
  var heldBytes: Int { (image?.byteCount ?? 0) + (original?.byteCount ?? 0) + (transformed?.bytes.count ?? 0) }

  /// Its parts for a completion; `record` is that of the stored image, if it was stored.
  func payload(for delivery: LoadDelivery, _ record: EntryHead?) -> LoadPayload? {
    if delivery.isEmpty { return nil }
    let record = record ?? known.head
    return LoadPayload(
      image: delivery.contains(.image) ? image : nil,
      data: data,
      head: data == nil ? nil : known.shown.map { record.showing($0) } ?? record
    )
  }

  enum Stored: Sendable {
    case asItCame
    case instead(SerializedImage)
    case nothing
  }
}

/// What is known of an image besides its pixels.
struct KnownImage: Sendable {
  /// The record of the original, or the one that it would have: look-ups judge it by their own rules.
  var head: EntryHead
  /// The record to report of a transformed image; nil if it wasn't transformed.
  var shown: EntryHead?
  /// Whether a job's rules don't apply to `head`, as it is of a transformed image found on disk.
  var isJudged = false
  /// The request headers that the response depends on, as in a record.
  var vary: [UInt8] = []
}

/// Bytes from an encoder or a serializer, with their verified properties.
struct SerializedImage: Sendable {
  let bytes: [UInt8]
  let verified: VerifiedImage
}

extension EntryHead {
  /// The head to report for a transformed image without bytes.
  func showing(_ image: DecodedImage) -> EntryHead {
    var head = self
    let size = image.pixels.size
    // Pixels are upright.
    head.image = ImageProperties(
      format: head.image.format,
      width: UInt32(clamping: size.width),
      height: UInt32(clamping: size.height),
      frames: UInt32(clamping: image.animation?.frames.count ?? 1)
    )
    return head
  }

  /// The head to report for a transformed image's file.
  func showing(_ serialized: SerializedImage) -> EntryHead {
    var head = self
    head.image = serialized.verified.image
    head.bodySize = UInt64(serialized.bytes.count)
    head.checksum = serialized.bytes.withRawBytes { ImageCaching.checksum(of: $0) }
    return head
  }

  /// The properties of `other` with the age and freshness of this one.
  func showing(_ other: EntryHead) -> EntryHead {
    var head = self
    (head.image, head.bodySize, head.checksum) = (other.image, other.bodySize, other.checksum)
    return head
  }
}
