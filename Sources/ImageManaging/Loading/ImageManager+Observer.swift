public import ImageCaching
public import Base
import Synchronization

extension ImageManager {
  /// An event in a manager's work, with enough for logs and metrics. Credentials in URLs are masked.
  public enum Event: Sendable {
    /// An image isn't cached or must be revalidated, and its download begins. Loads that share the download cause one event.
    case requested(url: String)
    /// A download failed, and is tried again after that time.
    case retried(url: String, ImageFailure, after: Duration)
    /// A load ended; its outcome says whether it was a hit, a download or a failure. Sent exactly once per load, with those of
    /// prefetchers and revalidations in the background.
    case ended(url: String, EntryResult)
    /// Images were removed from the cache, expired ones or to save space.
    case trimmed(TrimResult)
    /// A problem that no load fails of, as a sentence, such as a cache that can't be trimmed.
    case warning(String)
  }

  /// Receives a manager's events.
  ///
  /// It is called on the thread of the event, outside of locks, and possibly for several events at once. It must be quick, since loads wait
  /// for it.
  public struct Observer: Sendable {
    let receive: @Sendable (Event) -> Void
    public init(_ receive: @escaping @Sendable (Event) -> Void) { self.receive = receive }
  }

  /// Counts since a manager was created. Each load counts once, those of prefetchers and revalidations in the background included.
  public struct Statistics: Sendable, Hashable {
    /// Loads served from memory.
    public internal(set) var memoryHits = 0
    /// Loads served from disk.
    public internal(set) var diskHits = 0
    /// Loads served by a download, stored or not.
    public internal(set) var downloaded = 0
    /// Loads whose cached image the server confirmed.
    public internal(set) var revalidated = 0
    public internal(set) var failed = 0
    /// Loads served by an expired image since its server was down; they count as hits, too.
    public internal(set) var stale = 0
    /// Loads whose image was delivered although the disk couldn't store it.
    public internal(set) var unstored = 0
    /// Loads that ended without a request, since their URL is on the blacklist.
    public internal(set) var blacklisted = 0
    /// Loads without an image, as the mode or ``LoadHooks/shouldDownload`` allowed no request.
    public internal(set) var skipped = 0
    public internal(set) var cancelled = 0
    /// Downloads tried again after a failure.
    public internal(set) var retries = 0
    /// Bytes of bodies received from the network, including failed attempts.
    public internal(set) var receivedBytes: UInt64 = 0
    /// Images removed from the cache, expired ones and others.
    public internal(set) var trimmed = 0

    /// Loads served from memory or disk.
    public var hits: Int { memoryHits + diskHits }
    /// Loads that neither memory nor disk could serve without a request.
    public var misses: Int { downloaded + revalidated + failed + skipped }

    mutating func count(_ result: EntryResult) {
      receivedBytes += result.receivedBytes
      if result.staleReason != nil { stale += 1 }
      if result.storeFailure != nil { unstored += 1 }
      switch result.outcome {
      case .hitMemory: memoryHits += 1
      case .hitDisk: diskHits += 1
      case .downloaded, .checked: downloaded += 1
      case .revalidated: revalidated += 1
      case .failed: failed += 1
      case .blacklisted: blacklisted += 1
      case .skipped: skipped += 1
      case .cancelled: cancelled += 1
      }
    }
  }

  public var statistics: Statistics { observation.statistics }
}

/// Counts a manager's events and passes them on to its observers.
final class Observation: Sendable {
  private let observers: [ImageManager.Observer]
  private let counts = Mutex(ImageManager.Statistics())

  init(_ observers: [ImageManager.Observer]) { self.observers = observers }
  var statistics: ImageManager.Statistics { counts.withLock { $0 } }
  func requested(_ flight: Flight) { send(.requested(url: flight.shownText)) }

  func retried(_ flight: Flight, _ failure: ImageFailure, after delay: Duration) {
    counts.withLock { $0.retries += 1 }
    send(.retried(url: flight.shownText, failure, after: delay))
  }

  func ended(_ entry: Entry, _ result: EntryResult) { ended(result, url: String(decoding: entry.shownURL, as: UTF8.self)) }
  func ended(_ request: ImageRequest, _ result: EntryResult) { ended(result, url: maskingCredentials(request.url)) }

  private func ended(_ result: EntryResult, url: @autoclosure () -> String) {
    counts.withLock { $0.count(result) }
    send(.ended(url: url(), result))
  }

  func trimmed(_ result: TrimResult) {
    let count = result.expired + result.trimmed
    guard count > 0 else { return }
    counts.withLock { $0.trimmed += count }
    send(.trimmed(result))
  }

  func warned(_ sentence: String) { send(.warning(sentence)) }

  private func send(_ event: @autoclosure () -> ImageManager.Event) {
    guard !observers.isEmpty else { return }
    let event = event()
    for observer in observers { observer.receive(event) }
  }
}
