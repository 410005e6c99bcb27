public import ImagePrimitives
import Synchronization

/// One who gives an ``ImageDownloader`` work: its downloads, their numbers and events are its own, the transfers and limits are
/// shared with all others.
///
/// ``close()`` it when it is no longer needed; one that is let go of is closed without waiting.
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
  /// ``ImageDownloader/shutDown()`` this is a programmer's error and traps, and so is a number of which a download has not ended.
  public func submit(_ downloads: [Download]) {
    // Posted under the lock, so that it comes before the message that closes the client.
    isClosed.withLock { isClosed in
      trap(unless: !isClosed, "a client that is closed takes no downloads")
      _ = inbox.post(.submit(client: number, downloads))
    }
  }

  /// Cancels downloads that wait, and those that run unless told otherwise; each ends once as ``DownloadEvent/cancelled(id:_:)``,
  /// and a transfer stops when the last that shares it is cancelled. Unknown numbers are passed over.
  ///
  /// With `includingRunning` false those that run may end, and are not tried again where they fail.
  public func cancel(_ ids: [UInt64], includingRunning: Bool = true) {
    inbox.post(.cancel(client: number, ids, includingRunning: includingRunning))
  }

  /// Cancels all of this client's downloads that wait, and those that run where `includingRunning`; retries that wait are
  /// waiting.
  public func cancelAll(includingRunning: Bool) {
    inbox.post(.cancelAll(client: number, includingRunning: includingRunning))
  }

  /// Raises or lowers a download that waits, which keeps its sequence; one that runs keeps its place. Unknown numbers are passed
  /// over.
  public func setPriority(_ priority: Priority, of id: UInt64) {
    inbox.post(.setPriority(client: number, id, priority))
  }

  /// Says that ``DownloadReceiver/mayStart`` may have become true.
  public func capacityChanged() { inbox.post(.capacityChanged) }

  /// Cancels all that this client still has, and waits until its receiver has the last event and is let go of; a second call does
  /// nothing.
  ///
  /// Not to be called by the receiver within ``DownloadReceiver/receive(_:)``: it would wait for itself.
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
