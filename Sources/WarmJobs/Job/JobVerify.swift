public import ImagePrimitives

extension Job {
  /// What makes the bytes that came a good image.
  public struct Verify: Sendable {
    /// How the declared content type must fit the format of the bytes.
    public enum ContentType: String, Sendable, CaseIterable {
      /// The format's own type; an absent or generic one and usual aliases pass with a warning.
      case match
      /// The format's own type and nothing else.
      case exact
      case ignore
    }

    /// Whether an image may move.
    public enum Animated: String, Sendable, CaseIterable {
      case allow
      case forbid
      /// Nothing else is good.
      case require
    }

    /// What is asked of caches on the way.
    public enum RemoteCache: String, Sendable, CaseIterable {
      case ignore
      /// A second request tells whether they have the image.
      case report
      /// They must have it.
      case hit
    }

    /// What becomes of an image that a host gives for ten URLs or more: the same bytes behind different URLs, as soft 404s have them.
    ///
    /// One that is shared on purpose, such as a spacer of one pixel or a logo, counts as well: nothing in it tells the two apart, and hosts do answer with
    /// a single pixel for what they lack. Leave its URLs out (a manifest's `exclude`), or check them by a job of their own that ignores placeholders.
    /// A HEAD has no bytes to compare; a probe compares small images whole, and larger ones by their beginning and their length.
    /// With `transform` a report tells what was fetched now from what was in the cache, since it knows the latter by what it
    /// became; `fail` does not.
    public enum Placeholders: String, Sendable, CaseIterable {
      case ignore
      /// The report names it, and as HTML shows it where it was fetched in this run.
      case report
      /// From the tenth URL on it is a failure.
      case fail
    }

    /// Bounds that are part of what is allowed; a nil maximum is none.
    public struct Bounds: Sendable, Hashable {
      /// The least that is good.
      public var minimum: Int
      /// The most that is good; nil: no limit.
      public var maximum: Int?

      /// From `minimum` up to and including `maximum`.
      public init(minimum: Int, maximum: Int? = nil) {
        self.minimum = minimum
        self.maximum = maximum
      }
    }

    /// How deeply an image is proven good.
    public var decode: ProofDepth
    /// Whether a decoder's warning is a failure; false by default.
    public var isStrict: Bool
    /// How the declared type must fit; ``ContentType/match`` by default.
    public var contentType: ContentType
    /// The formats that are good; nil: any.
    public var formats: Set<ImageFormat>?
    /// Pixels.
    public var width: Bounds
    /// Pixels.
    public var height: Bounds
    /// Width × height; nil: any. 100 million by default.
    public var maxPixels: Int?
    /// Bytes of the body.
    public var bytes: Bounds
    /// Whether an image may move; ``Animated/allow`` by default.
    public var animated: Animated
    /// What becomes of an image that a host gives for many URLs; ``Placeholders/report`` by default.
    public var placeholders: Placeholders
    /// What is asked of caches on the way; ``RemoteCache/ignore`` by default.
    public var remoteCache: RemoteCache
  }
}
