package import ImageCoding

/// What a load brings beside its result; an object, so that results without one stay small.
package final class LoadPayload: Sendable {
  /// The decoded, transformed image.
  package let image: DecodedImage?
  /// The bytes as they came, or as the cache has them.
  package let data: [UInt8]?

  /// A payload of those parts.
  package init(image: DecodedImage? = nil, data: [UInt8]? = nil) {
    self.image = image
    self.data = data
  }
}

/// What a load is asked to bring.
package struct LoadDelivery: OptionSet, Sendable, Hashable {
  /// A bit for each.
  package let rawValue: UInt8

  /// The parts of those bits.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The decoded image; the memory layer serves it.
  package static let image = LoadDelivery(rawValue: 1)
  /// The bytes of the file; the disk or the network serves them, also where the image was in memory.
  package static let data = LoadDelivery(rawValue: 2)
}
