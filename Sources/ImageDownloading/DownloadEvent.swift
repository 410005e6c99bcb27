public import ImagePrimitives

/// What became of a download; the last three end it, and each download ends exactly once.
public enum DownloadEvent: Sendable {
  /// The next bytes of a body above ``DownloadOptions/streamAbove``, in order; the first chunk holds all that came until then.
  case chunk(id: UInt64, attempt: Int, bytes: [UInt8])
  /// The chunks so far are void: the attempt failed and a retry follows.
  case restarted(id: UInt64)
  /// Fetched whole, with an accepted status.
  case finished(id: UInt64, DownloadedImage)
  /// Failed for good, after its retries; its chunks are void.
  case failed(id: UInt64, Failure, TransferSummary)
  /// Cancelled before it ended; its chunks are void.
  case cancelled(id: UInt64, TransferSummary)
}

/// Who takes the events of an ``ImageDownloader``: on the transfer thread, never under a lock.
///
/// Both calls hold up all transfers while they last, so they hand work to other threads.
public protocol DownloadReceiver: AnyObject, Sendable {
  /// False where it has no room for more: then nothing new starts, and what runs goes on. See ``ImageDownloader/capacityChanged()``.
  var mayStart: Bool { get }
  /// Takes what happened since the last call, in order.
  func receive(_ events: [DownloadEvent])
}

/// A body as it came, and what the server said of it.
public struct DownloadedImage: Sendable {
  /// The HTTP status.
  public var status: Int
  /// The `Content-Type` header.
  public var contentType: String?
  /// The `ETag` header, quotes included.
  public var etag: String?
  /// The `Last-Modified` header.
  public var lastModified: String?
  /// The URL that answered, where redirects led to it; it may carry userinfo.
  public var finalURL: [UInt8]?
  /// The body; empty where it was streamed.
  public var body: [UInt8]
  /// The body's length in bytes, streamed or not.
  public var bodyBytes: Int
  /// Whether the body went out as ``DownloadEvent/chunk(id:attempt:bytes:)``.
  public var wasStreamed: Bool
  /// What it cost, over all attempts.
  public var summary: TransferSummary

  /// An answer with those parts.
  public init(
    status: Int,
    contentType: String? = nil,
    etag: String? = nil,
    lastModified: String? = nil,
    finalURL: [UInt8]? = nil,
    body: [UInt8],
    bodyBytes: Int,
    wasStreamed: Bool = false,
    summary: TransferSummary = TransferSummary()
  ) {
    self.status = status
    self.contentType = contentType
    self.etag = etag
    self.lastModified = lastModified
    self.finalURL = finalURL
    self.body = body
    self.bodyBytes = bodyBytes
    self.wasStreamed = wasStreamed
    self.summary = summary
  }
}

/// What a download cost, over all its attempts.
public struct TransferSummary: Sendable, Hashable {
  /// Requests made, retries included, redirects not.
  public var attempts = 0
  /// Bytes of bodies received, as they were coded on the way.
  public var receivedBytes: UInt64 = 0
  /// The sum of the attempts' durations, without waits.
  public var durationNanoseconds: UInt64 = 0
  /// Waiting between attempts.
  public var waitedNanoseconds: UInt64 = 0

  /// The summary of a download that made no request.
  public init() {}
}
