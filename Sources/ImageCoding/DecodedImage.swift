public import Base

/// A decoded image.
public struct DecodedImage: Sendable, Equatable {
  /// The header of the file.
  public var header: ImageHeader
  /// The pixels, upright: the orientation has been applied, so their size is ``ImageHeader/displaySize`` unless a smaller one was
  /// requested. For an animation, those of the first frame, or of the separate still picture that a PNG may have.
  public var pixels: PixelBuffer
  /// All frames of an animation; nil for a still image, or if only the first frame was requested.
  public var animation: Animation?
  /// The library's warnings, one sentence each.
  public var warnings: [String]

  public init(header: ImageHeader, pixels: PixelBuffer, animation: Animation? = nil, warnings: [String] = []) {
    self.header = header
    self.pixels = pixels
    self.animation = animation
    self.warnings = warnings
  }

  /// An image of those frames, at least one, or a still one if there are no others.
  init(header: ImageHeader, frames: [Frame], loopCount: Int, warnings: [String] = []) {
    self.init(header: header, pixels: frames[0].pixels, warnings: warnings)
    if frames.count > 1 { animation = Animation(frames: frames, loopCount: loopCount) }
  }

  /// The number of bytes of all frames' pixels.
  public var byteCount: Int {
    guard let animation else { return pixels.bytes.count }
    return animation.frames.reduce(0) { $0 + $1.pixels.bytes.count }
  }
}

extension DecodedImage {
  /// The frames of an animated image.
  public struct Animation: Sendable, Equatable {
    /// The frames, at least one.
    public var frames: [Frame]
    /// How often they are shown; 0: forever.
    public var loopCount: Int

    public init(frames: [Frame], loopCount: Int) {
      self.frames = frames
      self.loopCount = loopCount
    }
  }

  /// One picture of an animation, complete as displayed, including the visible parts of earlier frames.
  public struct Frame: Sendable, Equatable {
    /// The canvas, which has the same size in all frames.
    public var pixels: PixelBuffer
    public var duration: Duration

    public init(pixels: PixelBuffer, duration: Duration) {
      self.pixels = pixels
      self.duration = duration
    }

    /// A frame with a duration of that many milliseconds in the file.
    init(pixels: PixelBuffer, milliseconds: Int) {
      self.init(pixels: pixels, duration: Self.duration(milliseconds: milliseconds))
    }

    /// The display time for a duration in the file: values below 11 count as 100, as in browsers and SDWebImage.
    package static func duration(milliseconds: Int) -> Duration { .milliseconds(milliseconds < 11 ? 100 : milliseconds) }
  }
}

extension DecodedImage {
  /// Transforms the pixels of all frames to one new size and adapts the header.
  ///
  /// `addsAlpha` means that pixels may have become transparent.
  func mapPixels(addsAlpha: Bool = false, _ transform: (PixelBuffer) -> PixelBuffer) -> DecodedImage {
    var image = self
    if let animation {
      image.animation?.frames = animation.frames.map { Frame(pixels: transform($0.pixels), duration: $0.duration) }
      // The still picture is usually the first frame, and then shares its memory.
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

/// A number in a key: without a fraction if it is an integer, otherwise in the fewest digits that identify it.
func keyText(_ number: Double) -> String {
  Int(exactly: number).map(String.init) ?? "\(number)"
}
