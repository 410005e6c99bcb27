import ImageCaching
import ImageCoding
import Base

/// The properties of a verified body.
struct VerifiedImage: Sendable {
  var image: ImageProperties
  var proof: ProofDepth = .none
  var contentTypeMatch: ContentTypeMatch
  /// Warnings, including the decoder's.
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
  /// The record of the original image, real or hypothetical, for the memory layer.
  let head: EntryHead
  /// The same for the transformed image; nil if it wasn't transformed.
  let shown: EntryHead?
  /// Whether a job's rules don't apply to `head`, as it is of a transformed image found on disk.
  let isJudged: Bool
  /// The request headers that the response depends on, as in a record.
  let vary: [UInt8]
  /// Whether the memory layer may keep it.
  let isRemembered: Bool
  /// The bytes to store.
  let stored: Stored
  /// The bytes of the transformed image to store.
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

  /// The same only for delivery: not kept in memory.
  var unremembered: ImageProduct { ImageProduct(delivered: self) }

  private init(delivered product: ImageProduct) {
    (image, original, data, vary) = (product.image, nil, product.data, product.vary)
    (head, shown, isJudged) = (product.head, product.shown, product.isJudged)
    (stored, transformed, isRemembered) = (.nothing, nil, false)
  }

  /// The bytes that it holds: pixels, and stored bytes of a transformed image.
  var heldBytes: Int { (image?.byteCount ?? 0) + (original?.byteCount ?? 0) + (transformed?.bytes.count ?? 0) }

  /// Its parts for a completion; `record` is that of the stored image, if it was stored.
  func payload(for delivery: LoadDelivery, _ record: EntryHead?) -> LoadPayload? {
    if delivery.isEmpty { return nil }
    let record = record ?? head
    return LoadPayload(
      image: delivery.contains(.image) ? image : nil,
      data: data,
      head: data == nil ? nil : shown.map { record.showing($0) } ?? record
    )
  }

  enum Stored: Sendable {
    case asItCame
    case instead(SerializedImage)
    case nothing
  }
}

/// Bytes from an encoder or a serializer, with their verified properties.
struct SerializedImage: Sendable {
  let bytes: [UInt8]
  let verified: VerifiedImage
}

extension EntryHead {
  /// The head to report for a transformed image: with its bytes' properties if it has bytes, otherwise the original's.
  func showing(_ image: DecodedImage, _ serialized: SerializedImage?) -> EntryHead {
    var head = self
    if let serialized { return head.showing(serialized) }
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
