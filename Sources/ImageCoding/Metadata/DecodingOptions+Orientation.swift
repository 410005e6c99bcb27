import ImagePrimitives

extension DecodingOptions {
  /// The size of the decoded pixels before they are turned upright.
  func storedSize(of header: ImageHeader) -> ImageSize {
    let shown = decodedSize(of: header.displaySize)
    return header.orientation >= 5 ? ImageSize(width: shown.height, height: shown.width) : shown
  }
}
