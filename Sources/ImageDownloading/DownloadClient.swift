public import ImagePrimitives
import Synchronization

/// A user of an ``ImageDownloader``: its downloads, their numbers and events are its own; transfers and limits are shared with all
/// others.
///
/// ``close()`` it when it is no longer needed; a released client closes without waiting.
public final class DownloadClient: Sendable {
  private let number: Int
  private let inbox: Inbox
  private let isClosed = Mutex(false)

  init(number: Int, inbox: Inbox) {
    self.number = number
    self.inbox = inbox
  }

  deinit { endOnce(waiting: false) }

  /// Adds downloads; a batch costs one lock and at most one wake of the thread.
  ///
  /// A URL that is not http or https, and that no loader takes, fails as `invalid-url`. One whose URL, validators and options
  /// equal those of a download in flight, of whatever client, shares its transfer. After ``close()`` or
  /// ``ImageDownloader/shutDown()`` this is a programmer error and traps, and so is the number of a download that has not ended.
  public func submit(_ downloads: [Download]) {
    // Posted under the lock, so that it comes before the message that closes the client.
    isClosed.withLock { isClosed in
      trap(unless: !isClosed, "a client that is closed takes no downloads")
      _ = inbox.post(.submit(client: number, downloads))
    }
  }

  /// Cancels downloads that wait, and those that run unless told otherwise; each ends once as ``DownloadEvent/cancelled(id:_:)``,
  /// and a transfer stops when the last that shares it is cancelled. Unknown numbers are ignored.
  ///
  /// With `includingRunning` false running ones may end, and aren't retried if they fail.
  public func cancel(_ ids: [UInt64], includingRunning: Bool = true) {
    inbox.post(.cancel(client: number, ids, includingRunning: includingRunning))
  }

  /// Cancels all of this client's downloads that wait, retries included, and with `includingRunning` those that run.
  public func cancelAll(includingRunning: Bool) {
    inbox.post(.cancelAll(client: number, includingRunning: includingRunning))
  }

  /// Raises or lowers a download that waits, which keeps its sequence; one that runs is not affected. Unknown numbers are ignored.
  public func setPriority(_ priority: Priority, of id: UInt64) {
    inbox.post(.setPriority(client: number, id, priority))
  }

  /// Reports that ``DownloadReceiver/mayStart`` may have become true.
  public func capacityChanged() { inbox.post(.capacityChanged) }

  /// Cancels all downloads of this client, and waits until its receiver has the last event and is released; a second call does
  /// nothing.
  ///
  /// Don't call it on the transfer thread, such as in ``DownloadReceiver/receive(_:)``: it would wait for itself.
  public func close() { endOnce(waiting: true) }

  private func endOnce(waiting: Bool) {
    let isFirst = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
    guard isFirst else { return }
    let latch = waiting ? Latch() : nil
    let isTaken = inbox.post(.close(client: number, latch))
    // A downloader that ends closes its clients itself.
    if waiting { (isTaken ? latch : inbox.ended)?.wait() }
  }
}

/// What became of a download; the last four end it, and each download ends exactly once.
///
/// Downloads that share a transfer each get these with their own number.
public enum DownloadEvent: Sendable {
  /// Its transfer has begun: once, with ``Download/wantsProgress``.
  case started(id: UInt64)
  /// The head of a response has come, not that of a redirect: once per attempt, with ``Download/wantsProgress``.
  case response(id: UInt64, ResponseHead)
  /// Bytes of the body that came in this attempt, and the length if the server declared it, with ``Download/wantsProgress``. The first
  /// report of an attempt, right after ``response(id:_:)``, has 0; the last, right before ``finished(id:_:)``, has all.
  case progress(id: UInt64, received: Int, expected: Int?)
  /// The next bytes of a body above ``DownloadOptions/streamAbove``, in order; the first chunk holds all that came until then.
  case chunk(id: UInt64, attempt: Int, bytes: [UInt8])
  /// The chunks so far are void: the body begins again. A retry that resumes the body sends none.
  case restarted(id: UInt64)
  /// Fetched as ``DownloadOptions/method-swift.property`` asked, with an accepted status.
  case finished(id: UInt64, Response)
  /// The server responded with 304: the image of ``Download/validators`` is still right; see ``Response/isNotModified``.
  case notModified(id: UInt64, Response)
  /// Failed after its retries; its chunks are void.
  case failed(id: UInt64, Failure, TransferSummary)
  /// Cancelled before it ended; its chunks are void.
  case cancelled(id: UInt64, TransferSummary)

  public var id: UInt64 {
    switch self {
    case .started(let id), .response(let id, _), .progress(let id, _, _), .chunk(let id, _, _), .restarted(let id),
      .finished(let id, _), .notModified(let id, _), .failed(let id, _, _), .cancelled(let id, _):
      id
    }
  }
}

/// Receives the events of a ``DownloadClient``, on the transfer thread and never under a lock.
///
/// Both calls hold up all transfers until they return, so hand work to other threads.
public protocol DownloadReceiver: AnyObject, Sendable {
  /// Whether there is room for more. While it is false and downloads of this client wait, nothing new starts, for any client; running
  /// transfers continue. See ``DownloadClient/capacityChanged()``.
  var mayStart: Bool { get }
  /// Takes what happened since the last call, in order.
  func receive(_ events: [DownloadEvent])
}
