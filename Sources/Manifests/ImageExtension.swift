import ImagePrimitives

/// Tells images from pages by their URLs alone.
enum ImageExtension {
  private static let all: [StaticString] = [
    "jpg", "jpeg", "png", "webp", "gif", "avif", "svg", "jpe", "jfif", "apng", "heic", "heif", "jxl", "bmp", "ico", "tif", "tiff",
  ]

  /// Whether the path of a URL, or of a reference to one, ends in an extension that images have, whatever its case.
  static func ends(_ url: UnsafeRawBufferPointer) -> Bool {
    let end = url.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? url.count
    guard let dot = url[..<end].lastIndex(of: UInt8(ascii: ".")), (3...4).contains(end - dot - 1) else { return false }
    return all.contains { name in
      name.utf8CodeUnitCount == end - dot - 1
        && (0..<(end - dot - 1)).allSatisfy { name.utf8Start[$0] == url[dot + 1 + $0] | 0x20 }
    }
  }
}
