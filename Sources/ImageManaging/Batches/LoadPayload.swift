public import ImageCoding

/// What a load brings beside its result; an object, so that results without one stay small.
public final class LoadPayload: Sendable {
  /// The decoded, transformed image.
  public let image: DecodedImage?
  /// The bytes as they came, or as the cache has them.
  public let data: [UInt8]?

  /// A payload of those parts.
  public init(image: DecodedImage? = nil, data: [UInt8]? = nil) {
    self.image = image
    self.data = data
  }
}

/// What a load is asked to bring.
public struct LoadDelivery: OptionSet, Sendable, Hashable {
  /// A bit for each.
  public let rawValue: UInt8

  /// The parts of those bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The decoded image; the memory layer serves it.
  public static let image = LoadDelivery(rawValue: 1)
  /// The bytes of the file; the disk or the network serves them, also where the image was in memory.
  public static let data = LoadDelivery(rawValue: 2)
}
