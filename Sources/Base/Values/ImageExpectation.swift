/// What a list says about an image; parts that are nil aren't checked.
package struct ImageExpectation: Sendable, Hashable {
  package var sha256: [UInt8]?
  /// In pixels, as reports show it.
  package var width: UInt32?
  /// In pixels, as reports show it.
  package var height: UInt32?
  package var bytes: UInt64?
  package var format: ImageFormat?

  package init(
    sha256: [UInt8]? = nil,
    width: UInt32? = nil,
    height: UInt32? = nil,
    bytes: UInt64? = nil,
    format: ImageFormat? = nil
  ) {
    (self.sha256, self.width, self.height, self.bytes, self.format) = (sha256, width, height, bytes, format)
  }

  package var isEmpty: Bool { sha256 == nil && width == nil && height == nil && bytes == nil && format == nil }

  /// Returns the failure of a good result that differs, or that doesn't show whether it does; nil if it is as expected.
  package func failure(of result: EntryResult) -> ImageFailure? {
    let size = "\(result.width) x \(result.height) pixels"
    let sentence =
      differs("format", format?.name, result.format?.name, "the image is \(result.format?.name ?? "")")
      ?? differs("width", width, result.width, "the image is \(size)")
      ?? differs("height", height, result.height, "the image is \(size)")
      ?? differs("size in bytes", bytes, result.bytes, "the image has \(result.bytes) bytes")
      ?? differs("SHA-256", sha256.map(hexadecimal), result.sha256.map(hexadecimal), "the SHA-256 of the image is another one")
    return sentence.map { ImageFailure(.expectation, message: $0) }
  }

  private func differs<Value: Equatable>(_ name: String, _ expected: Value?, _ actual: Value?, _ finding: String) -> String? {
    guard let expected, actual != expected else { return nil }
    return actual == nil
      ? "the list expects the \(name) \(expected), but this run doesn't know it"
      : "\(finding), but the list expects the \(name) \(expected)"
  }

  /// Zero means unknown.
  private func differs<Number: FixedWidthInteger>(_ name: String, _ expected: Number?, _ actual: Number, _ finding: String)
    -> String?
  {
    differs(name, expected, actual == 0 ? nil : actual, finding)
  }

}

/// What the markup of a page says about an image.
package struct ImageClaims: Sendable, Hashable {
  /// The width in pixels of a `srcset`, such as `640w`.
  package var sourceWidth: UInt32?
  /// The image pixels per CSS pixel of a `srcset` or `image-set()`, such as `2x`.
  package var density: Double?
  /// The attributes `width` and `height`, in CSS pixels.
  package var width: UInt32?
  package var height: UInt32?
  /// The format of the attribute `type`.
  package var format: ImageFormat?
  /// Whether the element has `sizes`, which a `srcset` with widths requires.
  package var hasSizes = false

  package init(width: UInt32? = nil, height: UInt32? = nil) { (self.width, self.height) = (width, height) }
}
