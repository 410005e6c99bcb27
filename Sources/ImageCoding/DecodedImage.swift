public import ImagePrimitives

/// A decoded image.
public struct DecodedImage: Sendable, Equatable {
  /// The header as in the file.
  public var header: ImageHeader
  /// The pixels, upright: the orientation has been applied, so their size is ``ImageHeader/displaySize`` unless a smaller one was asked for. Of an
  /// animation, the first frame.
  public var pixels: PixelBuffer
  /// All frames of an animation; nil for a still image, and where only the first frame was asked for.
  public var animation: Animation?
  /// What the library found odd, a sentence each.
  public var warnings: [String]

  public init(header: ImageHeader, pixels: PixelBuffer, animation: Animation? = nil, warnings: [String] = []) {
    self.header = header
    self.pixels = pixels
    self.animation = animation
    self.warnings = warnings
  }

  /// The bytes of all its pixels.
  public var byteCount: Int {
    guard let animation else { return pixels.bytes.count }
    return animation.frames.reduce(0) { $0 + $1.pixels.bytes.count }
  }
}

/// The frames of an animated image.
public struct Animation: Sendable, Equatable {
  /// One picture of an animation, whole as it is shown: what frames before it left standing is in it.
  public struct Frame: Sendable, Equatable {
    /// The canvas, of the same size in all frames.
    public var pixels: PixelBuffer
    /// How long it is shown.
    public var duration: Duration

    public init(pixels: PixelBuffer, duration: Duration) {
      self.pixels = pixels
      self.duration = duration
    }

    /// How long a frame is shown that a file gives so many milliseconds: below 11 they count as 100, as in browsers and in SDWebImage.
    public static func duration(milliseconds: Int) -> Duration { .milliseconds(milliseconds < 11 ? 100 : milliseconds) }
  }

  /// At least one.
  public var frames: [Frame]
  /// How often they are shown; 0: for ever.
  public var loopCount: Int

  public init(frames: [Frame], loopCount: Int) {
    self.frames = frames
    self.loopCount = loopCount
  }
}

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
