extension Job {
  /// What is stored in place of an image as it came.
  public struct Transform: Sendable, Hashable {
    /// How an image of another aspect gets into the box of ``Resize``.
    public enum Fit: String, Sendable, CaseIterable {
      /// All of it, its aspect kept; a smaller image is not enlarged.
      case inside
      /// The whole box, its aspect kept; what is beyond is cut off.
      case cover
      /// The whole box, stretched.
      case fill
    }

    /// The formats that images are written in.
    public enum Format: String, Sendable, CaseIterable {
      /// As it came, where that can be written; otherwise an animation as WebP, and a still image as PNG where it has transparent pixels and as JPEG where not.
      case auto
      case jpeg, png, webp
    }

    /// A size in pixels, of which at least one side is given.
    public struct Resize: Sendable, Hashable {
      /// nil: as the height and the aspect have it.
      public var width: Int?
      /// nil: as the width and the aspect have it.
      public var height: Int?
      /// How an image of another aspect gets into the box; ``Fit/inside`` by default.
      public var fit: Fit

      /// A size; neither side given is a programmer's error, and traps when the job runs.
      public init(width: Int?, height: Int?, fit: Fit) {
        self.width = width
        self.height = height
        self.fit = fit
      }
    }

    /// The new size; nil, the default: as it is.
    public var resize: Resize?
    /// The format; ``Format/auto`` by default.
    public var format: Format
    /// Of JPEG and WebP, 1 to 100; 85 by default.
    public var quality: Int
    /// Whether the original is stored too; no by default.
    public var keepsOriginal: Bool
  }
}
