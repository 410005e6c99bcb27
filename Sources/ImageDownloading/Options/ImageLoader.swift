public import Base

/// A replacement of libcurl for some URLs: files, an object store, a test.
///
/// A load counts as a transfer for order, limits, retries, cancellation and sharing, with one host per scheme but http and https.
public protocol ImageLoader: Sendable {
  /// Whether it loads `url`. Must be quick: called on the transfer thread, or the caller's of a ``DownloadTask``.
  func canLoad(_ url: String) -> Bool
  /// Loads the image in a task of its own, which is cancelled if the image is no longer needed or its time is up.
  ///
  /// - Throws: a `ImageFailure`, which is retried if it is transient; any other error counts as `internal`.
  func load(_ request: LoaderRequest) async throws -> LoaderResponse
}

/// A request to an ``ImageLoader``.
public struct LoaderRequest: Sendable {
  /// The URL, as in the download.
  public var url: String
  /// The validators of the caller's copy, so that the loader may return ``LoaderResponse/notModified``.
  public var validators: Validators?
  /// The options of the download.
  public var options: DownloadOptions

  public init(url: String, validators: Validators? = nil, options: DownloadOptions) {
    self.url = url
    self.validators = validators
    self.options = options
  }
}

/// The response of an ``ImageLoader``.
public struct LoaderResponse: Sendable {
  /// The image's bytes; more than ``DownloadOptions/maxBytes`` fail as `too-large`.
  public var body: [UInt8]
  /// The media type, if known.
  public var contentType: String?
  /// The validators of this version of the image, if known.
  public var validators: Validators
  /// How long it may be reused.
  public var freshness: Freshness
  /// Whether the caller's copy is still current; `body` is then ignored.
  public var isNotModified: Bool

  public init(
    body: [UInt8],
    contentType: String? = nil,
    validators: Validators = Validators(),
    freshness: Freshness = Freshness()
  ) {
    self.body = body
    self.contentType = contentType
    self.validators = validators
    self.freshness = freshness
    isNotModified = false
  }

  /// A response that says that the caller's copy is still current.
  public static var notModified: LoaderResponse {
    var response = LoaderResponse(body: [])
    response.isNotModified = true
    return response
  }
}
