public import ImagePrimitives

/// Something that stands in for libcurl for the URLs that it knows: files, an object store, a test.
///
/// A load counts as a transfer for order, limits, retries, cancelling and sharing; URLs that are not http or https count as one host
/// per scheme.
public protocol ImageLoader: Sendable {
  /// Whether it loads `url`. Called on the transfer thread for each download, and on the caller's for a ``DownloadTask``, so it must be
  /// quick.
  func canLoad(_ url: String) -> Bool
  /// Loads the image in a task of its own, which is cancelled when nobody wants the image any more or its time is up.
  ///
  /// - Throws: a `Failure`, which is retried if it is transient; any other error counts as `internal`.
  func load(_ request: LoaderRequest) async throws -> LoaderResponse
}

/// A request to an ``ImageLoader``.
public struct LoaderRequest: Sendable {
  /// The URL, as the download has it.
  public var url: String
  /// Identify the image that the caller has, so that the loader may return ``LoaderResponse/notModified``.
  public var validators: Validators?
  /// How the download is made. A loader may bring the whole image whatever the method, and its images are not judged by their
  /// first bytes: they come whole.
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
  /// Identify this version of the image, if known.
  public var validators: Validators
  /// For how long it may be used again.
  public var freshness: Freshness
  /// Whether the caller's own version is still right, and `body` counts for nothing.
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

  /// The caller's own version is still right.
  public static var notModified: LoaderResponse {
    var response = LoaderResponse(body: [])
    response.isNotModified = true
    return response
  }
}
