import ImageDownloading
public import ImagePrimitives

/// What an image must be to be good.
public struct VerificationRules: Sendable, Hashable {
  /// How strictly the declared content type must fit the bytes.
  public enum ContentTypeRule: Sendable, Hashable {
    /// An absent or generic type and usual aliases pass with a warning, another type does not.
    case match
    /// Only the format's registered media type passes.
    case exact
    /// It is not looked at.
    case ignore
  }

  /// Whether an image may move.
  public enum AnimationRule: String, Sendable, Hashable, CaseIterable {
    /// It may.
    case allow
    /// Only still images are good.
    case forbid
    /// Only images of more than one frame are good.
    case require
  }

  /// A lowest and a highest value, both included.
  public struct Bounds: Sendable, Hashable {
    /// The lowest value; 1 by default.
    public var minimum: Int
    /// nil means that there is no highest value.
    public var maximum: Int?

    /// Bounds from `minimum` up.
    public init(minimum: Int = 1, maximum: Int? = nil) {
      self.minimum = minimum
      self.maximum = maximum
    }

    /// Whether `value` lies within.
    public func contains(_ value: Int) -> Bool { value >= minimum && value <= maximum ?? .max }
  }

  /// How deeply the bytes are proven; default the header.
  public var depth: ProofDepth
  /// Whether what a decoder finds odd is a failure, and not a warning; false by default.
  public var isStrict: Bool
  /// How strictly the declared content type must fit; default ``ContentTypeRule/match``.
  public var contentType: ContentTypeRule
  /// The formats that pass; nil means any.
  public var formats: Set<ImageFormat>?
  /// Pixels.
  public var width: Bounds
  /// Pixels.
  public var height: Bounds
  /// Width × height at most; default 100 million.
  public var maximumPixels: Int
  /// The body's bytes.
  public var bytes: Bounds
  /// Whether it may move; by default it may.
  public var animated: AnimationRule
  /// Whether a cache on the way must have it, by the answer to a second request (`DownloadOptions.checksRemoteCache`, without which nothing
  /// is asked); false by default. What is cached here is not asked about.
  public var requiresRemoteHit: Bool
  /// From so many URLs of a host with the same bytes on, the image is taken to stand for one that is missing, and is a failure; at least 2, anything
  /// less traps. Nil, the default: never. All loads of a context count, those found in the cache too.
  public var placeholderURLs: Int?

  /// Rules with the given parts, each with its default.
  public init(
    depth: ProofDepth = .header,
    isStrict: Bool = false,
    contentType: ContentTypeRule = .match,
    formats: Set<ImageFormat>? = nil,
    width: Bounds = Bounds(),
    height: Bounds = Bounds(),
    maximumPixels: Int = 100_000_000,
    bytes: Bounds = Bounds(),
    animated: AnimationRule = .allow,
    requiresRemoteHit: Bool = false,
    placeholderURLs: Int? = nil
  ) {
    self.depth = depth
    self.isStrict = isStrict
    self.contentType = contentType
    self.formats = formats
    self.width = width
    self.height = height
    self.maximumPixels = maximumPixels
    self.bytes = bytes
    self.animated = animated
    self.requiresRemoteHit = requiresRemoteHit
    self.placeholderURLs = placeholderURLs
  }

  /// Why a body of that many bytes is no good; nil where it is.
  func failure(byteCount: Int) -> Failure? {
    if byteCount < bytes.minimum { return Failure(.tooFewBytes(byteCount, minimum: bytes.minimum)) }
    if let maximum = bytes.maximum, byteCount > maximum { return Failure(.tooManyBytes(byteCount, maximum: maximum)) }
    return nil
  }

  /// Why that format is no good; nil where it is.
  func failure(format: ImageFormat) -> Failure? {
    guard let formats, !formats.contains(format) else { return nil }
    return Failure(.format(format, allowed: formats.sorted { $0.name < $1.name }))
  }

  /// Why a declared type that fits the format so is no good; nil where it is.
  func failure(contentType match: ContentTypeMatch, declared: String?, format: ImageFormat?) -> Failure? {
    let passes =
      switch contentType {
      case .ignore: true
      case .match: match != .mismatch
      case .exact: match == .exact
      }
    if passes { return nil }
    let says = declared.map { "the content type is \($0.quotable)" } ?? "the declared content type does not fit"
    let bytes = format.map { "the bytes are \($0.mediaType)" } ?? "the bytes are of no known format"
    return Failure(.contentType, message: "\(says), and \(bytes)")
  }

  /// Why an image that moves, or one that does not, is no good; nil where it is.
  func failure(isAnimated: Bool) -> Failure? {
    switch animated {
    case .forbid where isAnimated: Failure(.animated)
    case .require where !isAnimated: Failure(.still)
    case .allow, .forbid, .require: nil
    }
  }

  /// Why an image that a decoder found odd is no good; nil where it is.
  func failure(decoderWarnings: [String]) -> Failure? {
    guard isStrict, let first = decoderWarnings.first else { return nil }
    return Failure(.decoderWarning(first))
  }

  /// Why an image of that size is no good; nil where it is.
  func failure(size: ImageSize) -> Failure? {
    if !width.contains(size.width) { return Failure(.width(size, minimum: width.minimum, maximum: width.maximum)) }
    if !height.contains(size.height) { return Failure(.height(size, minimum: height.minimum, maximum: height.maximum)) }
    return size.pixels > maximumPixels ? Failure(.tooManyPixels(size, maximum: maximumPixels)) : nil
  }
}

extension VerificationRules.Bounds: CustomStringConvertible {
  /// The bounds for a sentence, such as `16 to 4000` or `at least 16`.
  public var description: String { FailureReason.bounds(minimum, maximum) }
}

extension VerificationRules {
  /// Why what caches on the way had is not enough; nil where it is, or where they were not asked.
  func failure(remoteCache answer: RemoteCacheResponse?) -> Failure? {
    guard requiresRemoteHit, let answer, answer.status != .hit else { return nil }
    return Failure(answer.failure.map { .secondRequest(failure: $0.message) } ?? .noRemoteHit(evidence: answer.evidence))
  }
}

extension RemoteCacheResponse {
  /// What was odd, and is no failure.
  var warning: String? { failure.map { "the second request failed: \($0.message)" } }
}
