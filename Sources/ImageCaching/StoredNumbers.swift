import ImagePrimitives

// Numbers on disk are positions in these lists, not the order of cases in the source. Lists may only grow at their ends.

extension ImageFormat {
  private static let onDisk: [ImageFormat] = [.jpeg, .png, .gif, .webp, .avif, .heic, .tiff, .bmp, .svg, .ico, .jpegXL]

  /// The format of a number from a record; nil for 0, which stands for no format, and for unknown numbers.
  init?(storedNumber: UInt8) {
    guard let format = Self.onDisk[position: Int(storedNumber) - 1] else { return nil }
    self = format
  }

  /// Its number in records, from 1 on.
  var storedNumber: UInt8 { number(of: self, in: Self.onDisk) + 1 }
}

extension FailureKind {
  private static let onDisk: [FailureKind] = [
    .dns, .connect, .timeout, .stalled, .reset, .truncated, .hostDown, .tls, .httpStatus, .redirects, .tooLarge, .contentType,
    .remoteCache, .refusedAddress, .robots, .notAnImage, .empty, .undecodable, .size, .format, .dimensions, .animated,
    .placeholder, .invalidURL, .cacheWrite, .internal,
  ]

  /// The kind of a number from a record; nil for unknown numbers.
  init?(storedNumber: UInt8) {
    guard let kind = Self.onDisk[position: Int(storedNumber)] else { return nil }
    self = kind
  }

  /// Its number in records, from 0 on.
  var storedNumber: UInt8 { number(of: self, in: Self.onDisk) }
}

extension ProofDepth {
  private static let onDisk: [ProofDepth] = [.none, .header, .full]

  /// The depth of a number from a record; nothing is proven by an unknown number.
  init(storedNumber: UInt8) { self = Self.onDisk[position: Int(storedNumber)] ?? .none }

  /// Its number in records, from 0 on.
  var storedNumber: UInt8 { number(of: self, in: Self.onDisk) }
}

extension ContentTypeMatch {
  private static let onDisk: [ContentTypeMatch] = [.exact, .alias, .generic, .absent, .mismatch]

  /// The match of a number from a record; an unknown number matches nothing.
  init(storedNumber: UInt8) { self = Self.onDisk[position: Int(storedNumber)] ?? .mismatch }

  /// Its number in records, from 0 on.
  var storedNumber: UInt8 { number(of: self, in: Self.onDisk) }
}

/// The position of `value`, which a list of all cases has.
private func number<T: Equatable>(of value: T, in list: [T]) -> UInt8 {
  guard let position = list.firstIndex(of: value) else { fatalError("\(value) has no number on disk yet") }
  return UInt8(position)
}

extension Array {
  /// The element at `position`; nil where there is none.
  fileprivate subscript(position position: Int) -> Element? { indices.contains(position) ? self[position] : nil }
}
