/// Width and height of an image in pixels.
public struct ImageSize: Sendable, Hashable {
  /// Pixels.
  public var width: Int
  /// Pixels.
  public var height: Int

  /// A size in pixels.
  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// Width × height; `Int.max` where the product overflows.
  public var pixels: Int {
    let (product, overflow) = width.multipliedReportingOverflow(by: height)
    return overflow ? .max : product
  }
}
