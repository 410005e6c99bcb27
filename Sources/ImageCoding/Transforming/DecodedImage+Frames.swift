import ImagePrimitives

extension DecodedImage {
  /// The image with its pixels, those of all its frames, made into others of one new size; its header tells of the new ones.
  ///
  /// `addsAlpha` says that pixels may have become transparent.
  func mapPixels(addsAlpha: Bool = false, _ transform: (PixelBuffer) -> PixelBuffer) -> DecodedImage {
    var image = self
    if let animation {
      image.animation?.frames = animation.frames.map { Animation.Frame(pixels: transform($0.pixels), duration: $0.duration) }
      // The still picture is mostly the first frame, and then shares its memory.
      let isFirst = animation.frames.first?.pixels == pixels
      image.pixels = isFirst ? image.animation!.frames[0].pixels : transform(pixels)
    } else {
      image.pixels = transform(pixels)
    }
    image.header.size = image.pixels.size
    image.header.orientation = 1
    image.header.hasAlpha = header.hasAlpha || addsAlpha
    return image
  }
}

/// A number as it stands in a key: without a fraction where it has none, and otherwise in as few digits as tell it from all others.
func keyText(_ number: Double) -> String {
  Int(exactly: number).map(String.init) ?? "\(number)"
}
