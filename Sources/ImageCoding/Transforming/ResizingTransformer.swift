public import ImagePrimitives

/// Makes images of a given size (SDWebImage's `SDImageResizingTransformer`).
///
/// Fewer pixels are means of areas, more are interpolated linearly. Key: `resize(WIDTHxHEIGHT,FIT)`, a side that is not given as `-`.
public struct ResizingTransformer: ImageTransformer {
  /// How an image of another aspect gets into the box.
  public enum Fit: String, Sendable, Hashable, CaseIterable {
    /// All of it, no side longer than the box's, its aspect kept; a smaller image stays as it is (`aspectFit`, but never enlarging).
    case inside
    /// The whole box, the aspect kept and what is beyond the box cut off at both ends alike (`aspectFill`).
    case cover
    /// The whole box, stretched (`fill`).
    case fill
  }

  /// Pixels; nil where ``height`` alone counts, and the width follows the aspect.
  public let width: Int?
  /// Pixels; nil where ``width`` alone counts, and the height follows the aspect.
  public let height: Int?
  /// How an image of another aspect gets into the box.
  public let fit: Fit
  /// The pixels that the result may have; more throw ``TransformError``. 100,000,000, or as many as the image has, if those are more.
  public static let maximumPixels = 100_000_000

  /// A transformer to that size; neither side given, or one below 1, is a programmer's error and traps.
  public init(width: Int? = nil, height: Int? = nil, fit: Fit = .inside) {
    trap(unless: width != nil || height != nil, "resizing needs a width, a height, or both")
    trap(unless: width ?? 1 > 0 && height ?? 1 > 0, "resizing to \(width ?? 1)x\(height ?? 1) pixels; sides begin at 1")
    self.width = width
    self.height = height
    self.fit = fit
  }

  /// Such as `resize(400x-,inside)`.
  public var key: String { "resize(\(width.map(String.init) ?? "-")x\(height.map(String.init) ?? "-"),\(fit.rawValue))" }
  public var transformsAnimated: Bool { true }

  /// The box itself where the image is to lie inside.
  public var decodingBox: ImageSize? {
    fit == .inside ? ImageSize(width: width ?? .max, height: height ?? .max) : nil
  }

  /// The image in the new size.
  public func transform(_ image: DecodedImage) throws(TransformError) -> DecodedImage {
    let size = image.pixels.size
    let target = targetSize(of: size)
    guard target.pixels <= max(Self.maximumPixels, size.pixels) else {
      throw TransformError("\(size.width)x\(size.height) pixels would become \(target.width)x\(target.height), which is too many")
    }
    let cut = fit == .cover ? PixelRectangle(middleOf: size, like: target) : PixelRectangle(size)
    if target == size && cut.size == size { return image.mapPixels { $0 } }
    return image.mapPixels { $0.cropped(to: cut).resized(to: target) }
  }

  /// The size of the result.
  public func outputSize(of size: ImageSize) -> ImageSize? { targetSize(of: size) }

  /// The size of the result for an image of `size`.
  func targetSize(of size: ImageSize) -> ImageSize {
    let horizontal = width.map { Double($0) / Double(size.width) }
    let vertical = height.map { Double($0) / Double(size.height) }
    if fit == .inside { return size.scaled(by: min(horizontal ?? 1, vertical ?? 1)) }
    let scale = horizontal ?? vertical ?? 1
    return ImageSize(
      width: width ?? Self.side(Double(size.width) * scale),
      height: height ?? Self.side(Double(size.height) * scale)
    )
  }

  private static func side(_ length: Double) -> Int { max(1, Int(exactly: length.rounded()) ?? .max) }
}

extension PixelRectangle {
  /// The largest part of an image of `size` that has the aspect of `other`, in its middle; to whole pixels.
  fileprivate init(middleOf size: ImageSize, like other: ImageSize) {
    let scale = max(Double(other.width) / Double(size.width), Double(other.height) / Double(size.height))
    let width = min(size.width, max(1, Int((Double(other.width) / scale).rounded())))
    let height = min(size.height, max(1, Int((Double(other.height) / scale).rounded())))
    self.init(x: (size.width - width) / 2, y: (size.height - height) / 2, width: width, height: height)
  }
}

/// How many pixels of an image make one point of a layout, by its name.
public enum ImageScale {
  /// The factor in the name of a file or in a URL: 2 for `a@2x.png`, 3 for `a@3x.png`, otherwise 1 (SDWebImage's `SDImageScaleFactorForKey`).
  ///
  /// It stands before a dot in the last part of the path, the at sign as it is or as `%40`; queries and fragments are not looked at. An image of 200 pixels
  /// and factor 2 is 100 points wide.
  public static func factor(inName name: some StringProtocol) -> Double {
    var path = Substring(name)
    if let end = path.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) { path = path[..<end] }
    if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) { path = path[path.utf8.index(after: slash)...] }
    let file = Array(path.utf8)
    for (factor, marks) in [(2.0, ["@2x.", "%402x."]), (3.0, ["@3x.", "%403x."])] where marks.contains(where: file.contains) {
      return factor
    }
    return 1
  }
}

extension [UInt8] {
  fileprivate func contains(_ text: String) -> Bool {
    indices.contains { self[$0...].starts(with: text.utf8) }
  }
}
