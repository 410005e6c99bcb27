public import ImagePrimitives

/// Something that stands in for libcurl for the URLs that it knows: files, an object store, a test.
///
/// A load occupies a place among the transfers, so order, limits, retries, cancelling and sharing hold as for them; URLs that are
/// not http or https count as one host per scheme.
public protocol ImageLoader: Sendable {
  /// Whether it loads `url`. Called on the transfer thread for each download, so it must be quick.
  func canLoad(_ url: String) -> Bool
  /// Loads the image; its task is cancelled when nobody wants the image any more or its time is up.
  ///
  /// - Throws: a `Failure`, which is taken as it is and retried where it is transient; any other error counts as `internal`.
  func load(_ request: LoaderRequest) async throws -> LoaderResponse
}

/// What an ``ImageLoader`` is asked for.
public struct LoaderRequest: Sendable {
  /// The URL, as the download has it.
  public var url: String
  /// What the caller has already, so that the loader may answer ``LoaderResponse/notModified``.
  public var validators: Validators?
  /// How the download is made. A loader may bring the whole image whatever the method, and its images are not judged by their
  /// first bytes: they come whole.
  public var options: DownloadOptions

  /// A request.
  public init(url: String, validators: Validators? = nil, options: DownloadOptions) {
    self.url = url
    self.validators = validators
    self.options = options
  }
}

/// What an ``ImageLoader`` found.
public struct LoaderResponse: Sendable {
  /// The image's bytes; more than ``DownloadOptions/maxBytes`` fail as `too-large`.
  public var body: [UInt8]
  /// The media type, where known.
  public var contentType: String?
  /// What tells this version of the image from others, where known.
  public var validators: Validators
  /// For how long it may be used again.
  public var freshness: Freshness
  /// Whether the caller's own version is still right, and `body` counts for nothing.
  public var isNotModified: Bool

  /// An answer with those parts.
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
    var answer = LoaderResponse(body: [])
    answer.isNotModified = true
    return answer
  }
}
