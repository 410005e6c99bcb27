package import Base
import Synchronization

/// A user of an ``ImageDownloader`` with its own downloads, numbers and events; transfers and limits are shared by all clients.
///
/// ``close()`` it when it is no longer needed; a released client closes without waiting.
package final class DownloadClient: Sendable {
  private let number: Int
  private let inbox: Inbox
  private let receiver: Mutex<(any DownloadReceiver)?>

  init(number: Int, inbox: Inbox, receiver: any DownloadReceiver) {
    self.number = number
    self.inbox = inbox
    self.receiver = Mutex(receiver)
  }

  deinit { endOnce(waiting: false) }

  /// Adds downloads; a batch takes one lock and wakes the thread at most once.
  ///
  /// A URL that is neither http nor https, and that no loader handles, fails as `invalid-url`. A download whose URL, validators and
  /// options equal those of a running one, of any client, shares its transfer. After the downloader was shut down, all of them end as
  /// cancelled before this returns. Traps after ``close()``, and if the number of a download is still in use.
  package func submit(_ downloads: [Download]) {
    // Posted under the lock, so that it precedes the message that closes the client.
    let rejecting: (any DownloadReceiver)? = receiver.withLock { receiver in
      trap(unless: receiver != nil, "can't submit downloads to a closed client")
      return inbox.post(.submit(client: number, downloads)) ? nil : receiver
    }
    rejecting?.receive(downloads.map { .cancelled(id: $0.id, TransferSummary()) })
  }

  /// Cancels waiting downloads and, with `includingRunning`, running ones. Each ends once with ``DownloadEvent/cancelled(id:_:)``; a
  /// shared transfer stops when its last download is cancelled. Unknown numbers are ignored.
  ///
  /// If `includingRunning` is false, running downloads may finish but aren't retried.
  package func cancel(_ ids: [UInt64], includingRunning: Bool = true) {
    inbox.post(.cancel(client: number, ids, includingRunning: includingRunning))
  }

  /// Changes the class of a waiting download, which keeps its sequence; no effect on running ones. Unknown numbers are ignored.
  ///
  /// - Parameter patience: options whose ``DownloadOptions/patience-swift.property``, retries and waits it gets; nil: it keeps its own.
  package func setPriority(_ priority: LoadPriority, patience: PreparedOptions? = nil, of id: UInt64) {
    inbox.post(.setPriority(client: number, id, priority, patience))
  }

  /// Reports that ``DownloadReceiver/mayStart`` may have become true.
  package func capacityChanged() { inbox.post(.capacityChanged) }

  /// Cancels all downloads of this client, and waits until its receiver got the last event and is released; once.
  ///
  /// Don't call it on a thread that makes transfers, such as in ``DownloadReceiver/receive(_:)`` or a hook: it would deadlock.
  package func close() { endOnce(waiting: true) }

  private func endOnce(waiting: Bool) {
    let last: (any DownloadReceiver)? = receiver.withLock { receiver in
      defer { receiver = nil }
      return receiver
    }
    guard last != nil else { return }
    let isClosed = waiting ? WaitableState(false) : nil
    let isTaken = inbox.post(.close(client: number, isClosed))
    guard let isClosed else { return }
    // A downloader that shuts down closes its clients itself.
    if !isTaken { inbox.ended.whenSet { isClosed.withLock(waking: .all) { $0 = true } } }
    isClosed.wait { $0 ? () : nil }
  }
}

/// A step of a download; the last four cases end it, and each download ends exactly once.
///
/// Downloads that share a transfer each get these events with their own number.
package enum DownloadEvent: Sendable {
  /// The transfer has begun. Sent once if the download reports progress.
  case started(id: UInt64)
  /// The head of a response that isn't a redirect. Sent once per attempt if the download reports progress.
  case response(id: UInt64, ResponseHead)
  /// The body's bytes received in this attempt, and its length if the server declared it. Sent if the download reports progress. The
  /// first report of an attempt, right after ``response(id:_:)``, has 0; the last, right before ``finished(id:_:)``, has all.
  case progress(id: UInt64, received: Int, expected: Int?)
  /// The next bytes of a body above ``DownloadOptions/streamAbove``, in order; the first chunk holds all bytes received until then.
  case chunk(id: UInt64, attempt: Int, bytes: [UInt8])
  /// The attempt failed, and another follows after that time. Sent if the download reports progress.
  case retrying(id: UInt64, ImageFailure, after: Duration)
  /// The chunks so far are void: the body starts over. Not sent if a retry resumes the body.
  case restarted(id: UInt64)
  /// Fetched by ``DownloadOptions/method-swift.property``, with an accepted status. In a box, as in ``TransferOutcome``.
  indirect case finished(id: UInt64, DownloadResponse)
  /// The server responded with 304: the image that the validators name is still current; see ``DownloadResponse/isNotModified``.
  case notModified(id: UInt64, DownloadResponse)
  /// Failed after all retries; its chunks are void.
  case failed(id: UInt64, ImageFailure, TransferSummary)
  /// Cancelled before it ended; its chunks are void.
  case cancelled(id: UInt64, TransferSummary)

  package var id: UInt64 {
    switch self {
    case .started(let id), .response(let id, _), .progress(let id, _, _), .chunk(let id, _, _),
      .retrying(let id, _, _), .restarted(let id),
      .finished(let id, _), .notModified(let id, _), .failed(let id, _, _), .cancelled(let id, _):
      id
    }
  }
}

/// Receives the events of a ``DownloadClient``, on the transfer thread, never under a lock; after a shutdown on the submitter's.
///
/// Both calls block the transfer thread until they return, so hand work to other threads.
package protocol DownloadReceiver: AnyObject, Sendable {
  /// Whether there is room for more. While it is false and downloads of this client wait, no download of any client starts; running
  /// transfers continue. See ``DownloadClient/capacityChanged()``.
  var mayStart: Bool { get }
  /// Receives the events since the last call, in order.
  func receive(_ events: [DownloadEvent])
}

/// One image to fetch: its URL, options and position in the queue.
package struct Download: Sendable {
  /// The caller's number, carried by all its events; unique among the unfinished downloads of one ``DownloadClient``.
  package var id: UInt64
  /// The normalised URL in ASCII bytes. Its userinfo, if any, is sent as Basic credentials to its own host only. If an
  /// ``ImageLoader`` handles the URL: whatever that loader understands.
  package var requestURL: [UInt8]
  /// The class: downloads of a higher one start first.
  package var priority: LoadPriority
  /// The position within the class: lower ones start first; equal ones in the order of submission.
  package var sequence: Int64
  package var prepared: PreparedOptions
  /// The validators of the caller's copy, sent as `If-None-Match` and `If-Modified-Since` (RFC 9110, section 13.1) on each hop at
  /// the download's own origin. A 304 then ends it with ``DownloadEvent/notModified(id:_:)``. If nil, a 304 is unacceptable.
  package var validators: Validators?
  /// Whether ``DownloadEvent/started(id:)``, ``DownloadEvent/response(id:_:)``, ``DownloadEvent/retrying(id:_:after:)`` and
  /// ``DownloadEvent/progress(id:received:expected:)`` are sent; false by default.
  package var wantsProgress = false
  /// The minimum time between two progress reports, except before the last; with zero, one iteration of the transfer thread.
  package var progressInterval = Duration.zero
  /// Whether ``TransferSummary/details`` is filled; false by default.
  package var wantsDetails = false

  package init(
    id: UInt64,
    requestURL: [UInt8],
    priority: LoadPriority = .normal,
    sequence: Int64 = 0,
    options prepared: PreparedOptions
  ) {
    self.id = id
    self.requestURL = requestURL
    self.priority = priority
    self.sequence = sequence
    self.prepared = prepared
  }

  /// The options as the caller gave them.
  // Without a copy, which would retain each part.
  package var options: DownloadOptions { _read { yield prepared.options } }
}

/// The order in which downloads of one class start.
public enum DownloadOrder: Sendable {
  /// First in, first out.
  case fifo
  /// Last in, first out.
  case lifo

  /// The ``Download/sequence`` of the download that was submitted as number `arrival`.
  package func sequence(ofArrival arrival: Int64) -> Int64 { self == .fifo ? arrival : -arrival }
}
