package import ImageCaching
public import ImageCoding
package import ImageDownloading
public import Base

/// The settings of a context, each with its default.
package struct LoadOptions: Sendable {
  package var mode = CacheMode.use
  /// Further caches to look in, in order, after the own one.
  package var readOnly: [ReadOnlyCache] = []
  /// The memory layer; none by default. With one, every image is decoded and put there, unless ``keepsInMemory`` is false.
  package var memory: ImageMemory?
  /// Whether images are read from the memory layer and put there; true by default. If false, stored images are still removed there.
  package var keepsInMemory = true
  package var layers = CacheLayerUse()
  package var keyRule = KeyRule.url
  package var verifiesHits = false
  package var servesExpired = false
  package var faults = FaultRules()
  /// The run that the loads belong to, which begins with the context, the reference of ages; none by default.
  package var run: Run?
  /// The parts of completions; none by default.
  package var delivery: LoadDelivery = []
  package var decoding = DecodingOptions()
  package var showsPartialImages = false
  package var transformer: (any ImageTransformer)?
  /// How transformed images, or images themselves without a transformer, are encoded for the disk; nil (the default): they are stored only
  /// by a ``LoadHooks/cacheSerializer``.
  package var encoding: TransformEncoding?
  package var coders: ImageCoderRegistry?
  /// Further ways to request images, each with the method of the plain one, ``LoadContext/download``; none by default. Requests name theirs
  /// by ``/Base/Entry/variant``.
  package var variants: [(RequestVariant, DownloadOptions)] = []
  package var downloader: ImageDownloader?
  package var hooks = LoadHooks()
  package var reportsProgress = false
  package var verification = VerificationRules()
  package var blacklist = BlacklistRules()
  /// Gets every received image; none by default.
  package var observer: (any ImageObserver)?
  var observation: Observation?
  /// Words errors with the program's names of settings; nil (the default): the errors' own descriptions.
  package var wording: (any Wording)?
}

extension LoadOptions {
  package static var standard: LoadOptions { LoadOptions() }

  package struct Run: Sendable {
    /// When a run began that this one tries again; nil (the default): it is no further attempt. Images stored since then count as
    /// downloaded, and failures as new, as if this attempt had requested them.
    package var earlierAttempt: Timestamp?

    package init(earlierAttempt: Timestamp? = nil) { self.earlierAttempt = earlierAttempt }
  }
}

/// What a load delivers although something fails; by default nothing, as for a run, whose verdict must tell.
package struct FaultRules: Sendable, Hashable {
  /// Whether an image that can't be stored is a failure; otherwise it is delivered.
  var requiresStoring = true
  /// Whether an expired image is served if its server is down, as far as the cache's rules allow it.
  var servesStale = false
}

/// Words errors for the users of a program, which may name settings differently than the library.
package protocol Wording: Sendable {
  /// The sentence for a failure that depends on a setting.
  func sentence(_ reason: FailureReason) -> String
  func sentence(_ error: CacheError) -> String
}

extension LoadContext {
  func sentence(_ error: CacheError) -> String { options.wording?.sentence(error) ?? "\(error)" }

  /// The same failure with the program's wording.
  func worded(_ failure: ImageFailure) -> ImageFailure {
    guard let reason = failure.reason, let wording = options.wording else { return failure }
    var failure = failure
    failure.message = wording.sentence(reason)
    return failure
  }
}

/// Distinguishes one variant's images from those of others: appended to the URL, which has no fragment in normal form.
struct VariantIdentity: Sendable {
  /// Whether there may be an addition.
  let isAny: Bool
  private let suffix: [UInt8]
  private let isEdge: Bool
  private let connection: DownloadOptions.Connection

  /// Creates an identity; a name with a `#` traps.
  init(_ variant: RequestVariant, _ connection: DownloadOptions.Connection) {
    let names = [("variant", variant.name), ("edge", variant.edge)]
    trap(unless: !names.contains { $0.1?.utf8.contains(UInt8(ascii: "#")) ?? false }, "a variant's name must not contain '#'")
    suffix = Array(names.map { key, name in name.map { "#\(key)=\($0)" } ?? "" }.joined().utf8)
    isEdge = variant.edge != nil
    self.connection = connection
    isAny = !suffix.isEmpty || !connection.connectTo.isEmpty
  }

  /// The addition to the identity of `url`, a normalised one; nil if there is none.
  func suffix(for url: UnsafeRawBufferPointer) -> [UInt8]? {
    if isEdge { return suffix }
    guard let target = connection.target(for: url) else { return suffix.isEmpty ? nil : suffix }
    return suffix + Array("#connect=".utf8) + target
  }
}

/// Decisions by the code of a manager's user.
///
/// A hook is called on the thread of the load, outside of locks, and possibly for several loads at once. It must be quick, since others
/// wait for it. URLs are as they were first written, credentials included.
public struct LoadHooks: Sendable {
  /// Whether an image that isn't cached, or is to be refreshed, is requested. False ends a miss without image and without error, as
  /// ``/Base/LoadOutcome/skipped``, and serves the cached image on a refresh.
  public var shouldDownload: (@Sendable (_ url: String) -> Bool)?
  /// Whether a failure is remembered on the blacklist; overrides ``BlacklistRules``.
  public var shouldBlockFailedURL: (@Sendable (_ url: String, _ failure: ImageFailure) -> Bool)?
  /// The identity that an image is cached under, instead of the URL's own. It is stored, so it must not contain secrets.
  public var cacheKeyFilter: (@Sendable (_ url: String) -> String)?
  /// The bytes to store instead of the received ones; nil: nothing is stored.
  ///
  /// `data` is nil for a transformed image, which has no bytes of its own: without a serializer or ``ImageManager/Configuration/encoding`` it stays in
  /// memory. `image` is passed if the load decodes. The result must be an image of a format that can be probed.
  public var cacheSerializer: (@Sendable (_ url: String, _ image: DecodedImage?, _ data: [UInt8]?) -> [UInt8]?)?

  public init(
    shouldDownload: (@Sendable (_ url: String) -> Bool)? = nil,
    shouldBlockFailedURL: (@Sendable (_ url: String, _ failure: ImageFailure) -> Bool)? = nil,
    cacheKeyFilter: (@Sendable (_ url: String) -> String)? = nil,
    cacheSerializer: (@Sendable (_ url: String, _ image: DecodedImage?, _ data: [UInt8]?) -> [UInt8]?)? = nil
  ) {
    self.shouldDownload = shouldDownload
    self.shouldBlockFailedURL = shouldBlockFailedURL
    self.cacheKeyFilter = cacheKeyFilter
    self.cacheSerializer = cacheSerializer
  }
}

/// Which failures are remembered, and whether a remembered URL is requested again.
public struct BlacklistRules: Sendable {
  /// Whether the blacklist is used at all; true by default.
  public var isEnabled: Bool
  /// Whether blacklisted URLs are requested nevertheless; a success removes them. False by default.
  public var retriesFailed: Bool
  /// The HTTP statuses that count as permanent failures; ``lastingStatuses`` by default.
  public var statuses: [ClosedRange<Int>]

  public init(isEnabled: Bool = true, retriesFailed: Bool = false, statuses: [ClosedRange<Int>] = BlacklistRules.lastingStatuses)
  {
    self.isEnabled = isEnabled
    self.retriesFailed = retriesFailed
    self.statuses = statuses
  }

  /// 400, 404–406, 410–415, 417, 422 and 451: permanent failures. Not 401 and 403, since one expired token would blacklist a whole
  /// site.
  public static let lastingStatuses: [ClosedRange<Int>] = [400...400, 404...406, 410...415, 417...417, 422...422, 451...451]

  /// Whether a failure that was final for this run is remembered for the next. Failures that depend on the job or may be
  /// temporary never are, except HTTP statuses of ``statuses``.
  func remembers(_ failure: ImageFailure) -> Bool {
    guard isEnabled else { return false }
    switch failure.kind {
    case .httpStatus:
      guard let status = failure.status else { return false }
      return statuses.contains { $0.contains(status) }
    case .notAnImage, .empty, .undecodable:
      return true
    case .dns, .connect, .timeout, .stalled, .reset, .truncated, .hostDown, .tls,
      .redirects, .tooLarge, .contentType, .remoteCache, .refusedAddress, .robots,
      .size, .format, .dimensions, .animated, .placeholder, .invalidURL, .cacheWrite, .internal, .expectation:
      return false
    }
  }
}

/// How an image is encoded for the disk, and for those who get its file.
///
/// An animation is refused by a format that keeps one frame, unless ``/ImageCoding/EncodingOptions/firstFrameOnly`` asks for that.
public struct TransformEncoding: Sendable, Hashable {
  /// The format; nil: the one that ``/ImageCoding/ImageCoderRegistry/encodingFormat(for:options:)`` chooses.
  public var format: ImageFormat?
  public var options: EncodingOptions

  /// Creates an encoding; by default in the format that suits the image, with quality 85.
  public init(format: ImageFormat? = nil, options: EncodingOptions = EncodingOptions()) {
    self.format = format
    self.options = options
  }

  /// Whether it needs only one frame, even if the image has several: those that a format can't keep are refused.
  var isStill: Bool { options.firstFrameOnly || format.map { !$0.keepsAnimations } ?? false }

  /// Distinguishes its files from those of other encodings, such as `encode(webp,85)`: part of the stored image's identity, like a
  /// transformer's key.
  public var key: String {
    var parts = [format?.name ?? "auto", "\(options.quality)"]
    if options.isLossless { parts.append("lossless") }
    if let bytes = options.maximumBytes { parts.append("max-bytes=\(bytes)") }
    if let size = options.maximumSize { parts.append("max-size=\(size.width)x\(size.height)") }
    // Others keep one frame anyway.
    if options.firstFrameOnly, format?.keepsAnimations ?? true { parts.append("first-frame") }
    return "encode(\(parts.joined(separator: ",")))"
  }
}

extension ImageFormat {
  /// Whether the coders here write all frames of an animation.
  package var keepsAnimations: Bool { self == .webp || self == .avif }
}
