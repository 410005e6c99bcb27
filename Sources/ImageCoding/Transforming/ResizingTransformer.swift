package import Base

/// Resizes images (SDWebImage's `SDImageResizingTransformer`).
///
/// Reduced pixels are averaged by area, enlarged ones interpolated linearly. Key: `resize(WIDTHxHEIGHT,FIT)`, with `-` for a
/// missing side.
package struct ResizingTransformer: ImageTransformer {
  package typealias Fit = ImageTransform.Fit

  /// In pixels; nil if only ``height`` is given, and the width follows from the aspect ratio.
  package let width: Int?
  /// In pixels; nil if only ``width`` is given, and the height follows from the aspect ratio.
  package let height: Int?
  /// How an image with another aspect ratio fits the box.
  package let fit: Fit
  /// The maximum number of pixels of the result, above which it throws ``TransformError``: 100,000,000, or the image's number if
  /// that is larger.
  package static let maximumPixels = 100_000_000

  /// Creates a transformer; traps if neither side is given, or one is below 1.
  package init(width: Int? = nil, height: Int? = nil, fit: Fit = .inside) {
    trap(unless: width != nil || height != nil, "resizing requires a width, a height, or both")
    trap(unless: width ?? 1 > 0 && height ?? 1 > 0, "resizing to \(width ?? 1)x\(height ?? 1) pixels; use sides of at least 1")
    self.width = width
    self.height = height
    self.fit = fit
  }

  package var key: String { "resize(\(width.map(String.init) ?? "-")x\(height.map(String.init) ?? "-"),\(fit.rawValue))" }
  package var transformsAnimated: Bool { true }

  /// The box itself if images must be inside it.
  package var decodingBox: ImageSize? {
    fit == .inside ? ImageSize(width: width ?? .max, height: height ?? .max) : nil
  }

  package func transform(_ image: DecodedImage) throws(TransformError) -> DecodedImage {
    let size = image.pixels.size
    let target = targetSize(of: size)
    let limit = max(Self.maximumPixels, size.pixels)
    guard target.pixels <= limit else {
      throw TransformError("resizing to \(target.width)x\(target.height) exceeds the limit of \(limit) pixels")
    }
    let cut = fit == .cover ? PixelRectangle(middleOf: size, like: target) : PixelRectangle(size)
    if target == size && cut.size == size { return image.mapPixels { $0 } }
    return image.mapPixels { $0.cropped(to: cut).resized(to: target) }
  }

  package func outputSize(of size: ImageSize) -> ImageSize? { targetSize(of: size) }

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
  /// The largest centred part of an image of `size` with the aspect ratio of `other`, rounded to whole pixels.
  fileprivate init(middleOf size: ImageSize, like other: ImageSize) {
    let scale = max(Double(other.width) / Double(size.width), Double(other.height) / Double(size.height))
    let width = min(size.width, max(1, Int((Double(other.width) / scale).rounded())))
    let height = min(size.height, max(1, Int((Double(other.height) / scale).rounded())))
    self.init(x: (size.width - width) / 2, y: (size.height - height) / 2, width: width, height: height)
  }
}

/// The number of an image's pixels per layout point, derived from its name.
package enum ImageScale {
  /// The factor in the name of a file or in a URL: 2 for `a@2x.png`, 3 for `a@3x.png`, otherwise 1 (SDWebImage's
  /// `SDImageScaleFactorForKey`).
  ///
  /// It precedes a dot in the last part of the path, with the at sign literal or as `%40`; queries and fragments are ignored. An
  /// image of 200 pixels with factor 2 is 100 points wide.
  package static func factor(inName name: some StringProtocol) -> Double {
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
