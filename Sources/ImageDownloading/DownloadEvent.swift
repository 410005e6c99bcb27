public import ImagePrimitives

/// What became of a download; the last four end it, and each download ends exactly once.
///
/// Downloads that share a transfer each get these with their own number.
public enum DownloadEvent: Sendable {
  /// Its transfer runs: where ``Download/wantsProgress``, once.
  case started(id: UInt64)
  /// The head of the answer came, not that of a redirect: where ``Download/wantsProgress``, once an attempt.
  case response(id: UInt64, ResponseHead)
  /// Bytes of the body that came in this attempt, of so many where the server told: where ``Download/wantsProgress``. The first
  /// of an attempt, right after ``response(id:_:)``, tells 0; the last, right before ``finished(id:_:)``, tells all.
  case progress(id: UInt64, received: Int, expected: Int?)
  /// The next bytes of a body above ``DownloadOptions/streamAbove``, in order; the first chunk holds all that came until then.
  case chunk(id: UInt64, attempt: Int, bytes: [UInt8])
  /// The chunks so far are void: the body begins anew. A retry that goes on from where the body broke off, since the server can tell
  /// that it is the same, tells none.
  case restarted(id: UInt64)
  /// Fetched as ``DownloadOptions/method-swift.property`` asked, with an accepted status.
  case finished(id: UInt64, DownloadedImage)
  /// The server answered 304: what ``Download/validators`` stand for is still right. The body is empty; freshness and validators
  /// are those of the 304.
  case notModified(id: UInt64, DownloadedImage)
  /// Failed for good, after its retries; its chunks are void.
  case failed(id: UInt64, Failure, TransferSummary)
  /// Cancelled before it ended; its chunks are void.
  case cancelled(id: UInt64, TransferSummary)

  /// The number of its download.
  public var id: UInt64 {
    switch self {
    case .started(let id), .response(let id, _), .progress(let id, _, _), .chunk(let id, _, _), .restarted(let id),
      .finished(let id, _), .notModified(let id, _), .failed(let id, _, _), .cancelled(let id, _):
      id
    }
  }
}

/// Who takes the events of a ``DownloadClient``: on the transfer thread, never under a lock.
///
/// Both calls hold up all transfers while they last, so they hand work to other threads.
public protocol DownloadReceiver: AnyObject, Sendable {
  /// False where it has no room for more: then nothing new starts for as long as downloads of this client wait, and what runs
  /// goes on. See ``DownloadClient/capacityChanged()``.
  var mayStart: Bool { get }
  /// Takes what happened since the last call, in order.
  func receive(_ events: [DownloadEvent])
}
