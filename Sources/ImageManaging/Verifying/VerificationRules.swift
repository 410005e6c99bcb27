import ImageDownloading
public import Base

/// The requirements on images.
public struct VerificationRules: Sendable, Hashable {
  /// How strictly the declared content type must match the bytes.
  public enum ContentTypeRule: Sendable, Hashable {
    /// A missing or generic type and usual aliases pass with a warning; other types fail.
    case match
    /// Only the format's registered media type passes.
    case exact
    /// It is ignored.
    case ignore
  }

  /// Whether images may be animated.
  public enum AnimationRule: String, Sendable, Hashable, CaseIterable {
    /// They may.
    case allow
    /// Only still images are accepted.
    case forbid
    /// Only images with more than one frame are accepted.
    case require
  }

  /// A minimum and a maximum, both included.
  public struct Bounds: Sendable, Hashable {
    /// The minimum; 1 by default.
    public var minimum: Int
    public var maximum: Int?

    public init(minimum: Int = 1, maximum: Int? = nil) {
      self.minimum = minimum
      self.maximum = maximum
    }

    public func contains(_ value: Int) -> Bool { value >= minimum && value <= maximum ?? .max }
  }

  /// How deeply the bytes are verified; the header by default.
  public var depth: ProofDepth
  /// Whether a decoder's warnings are failures; false by default.
  public var isStrict: Bool
  /// How strictly the declared content type must match; ``ContentTypeRule/match`` by default.
  public var contentType: ContentTypeRule
  /// The accepted formats; nil: any.
  public var formats: Set<ImageFormat>?
  /// In pixels.
  public var width: Bounds
  /// In pixels.
  public var height: Bounds
  /// The maximum of width × height; 100 million by default. It doesn't apply to SVG, which scales.
  public var maximumPixels: Int
  /// The size of the body in bytes.
  public var bytes: Bounds
  /// Whether it may be animated; it may by default.
  public var animated: AnimationRule
  /// Whether a cache on the way must have it, by the response to a second request (with `DownloadOptions.purpose`, otherwise
  /// there is none); false by default. Doesn't apply to cached images.
  package var requiresRemoteHit = false
  /// The number of URLs of a host with the same bytes from which on the image counts as a placeholder for a missing one, which is a
  /// failure; at least 2. Nil (the default): never. All loads of a context count, including hits.
  public var placeholderURLs: Int?

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
    self.placeholderURLs = placeholderURLs
  }

  /// What is wrong with the rules, in one sentence; nil if they can be used.
  var invalidReason: String? {
    placeholderURLs.flatMap { $0 < 2 ? "verification: placeholderURLs must be at least 2, not \($0)" : nil }
  }

  // Why an image breaks one of the rules; nil if it doesn't.

  func failure(byteCount: Int) -> ImageFailure? {
    if byteCount < bytes.minimum { return ImageFailure(.tooFewBytes(byteCount, minimum: bytes.minimum)) }
    if let maximum = bytes.maximum, byteCount > maximum { return ImageFailure(.tooManyBytes(byteCount, maximum: maximum)) }
    return nil
  }

  func failure(format: ImageFormat) -> ImageFailure? {
    guard let formats, !formats.contains(format) else { return nil }
    return ImageFailure(.format(format, allowed: formats.sorted { $0.name < $1.name }))
  }

  func failure(contentType match: ContentTypeMatch, declared: String?, format: ImageFormat?) -> ImageFailure? {
    let passes =
      switch contentType {
      case .ignore: true
      case .match: match != .mismatch
      case .exact: match == .exact
      }
    if passes { return nil }
    let finding = declared.map { "the content type is \($0.quotable)" } ?? "the declared content type doesn't match"
    let bytes = format.map { "the bytes are \($0.mediaType)" } ?? "the bytes are of no known format"
    return ImageFailure(.contentType, message: "\(finding), but \(bytes)")
  }

  func failure(isAnimated: Bool) -> ImageFailure? {
    switch animated {
    case .forbid where isAnimated: ImageFailure(.animated)
    case .require where !isAnimated: ImageFailure(.still)
    case .allow, .forbid, .require: nil
    }
  }

  func failure(decoderWarnings: [String]) -> ImageFailure? {
    guard isStrict, let first = decoderWarnings.first else { return nil }
    return ImageFailure(.decoderWarning(first))
  }

  func failure(size: ImageSize, format: ImageFormat?) -> ImageFailure? {
    if !width.contains(size.width) { return ImageFailure(.width(size, minimum: width.minimum, maximum: width.maximum)) }
    if !height.contains(size.height) { return ImageFailure(.height(size, minimum: height.minimum, maximum: height.maximum)) }
    return format != .svg && size.pixels > maximumPixels ? ImageFailure(.tooManyPixels(size, maximum: maximumPixels)) : nil
  }
}

extension VerificationRules.Bounds: CustomStringConvertible {
  /// The bounds for messages, such as `16 to 4000` or `at least 16`.
  public var description: String { FailureReason.bounds(minimum, maximum) }
}

extension VerificationRules {
  func failure(remoteCache response: RemoteCacheResponse?) -> ImageFailure? {
    guard requiresRemoteHit, let response, response.status != .hit else { return nil }
    return ImageFailure(response.failure.map { .secondRequest(failure: $0.message) } ?? .noRemoteHit(evidence: response.evidence))
  }
}

extension DownloadResponse {
  /// Oddities of the body's coding that browsers ignore.
  var codingWarnings: [String] {
    [
      undecoded.map { "the Content-Encoding \($0.quotable) is unknown, so the bytes were taken as they are" },
      hasExcess ? "bytes after the end of the coded body were ignored" : nil,
    ].compactMap(\.self)
  }
}

extension RemoteCacheResponse {
  /// A problem that isn't a failure.
  var warning: String? { failure.map { "the second request failed: \($0.message)" } }
}
