import ImageCaching
import ImageDownloading
import Base
import Synchronization

/// The load of one identity, from its request until its result is final.
final class Flight: Sendable {
  /// How a flight has been stopped.
  enum Stop: UInt8, AtomicRepresentable, Comparable {
    case no
    /// Nothing further may start for it; running work continues.
    case nothingNew
    /// Running work ends too.
    case now

    static func < (left: Stop, right: Stop) -> Bool { left.rawValue < right.rawValue }
  }

  /// The image that it looks for, or the one that it reads or revalidates.
  let name: ImageName
  /// The image that belongs to the credentials of the request.
  let own: ImageName
  /// The image that any credentials may get; nil if the request has none.
  let shared: ImageName?
  /// The entry that started it; its URLs are requested and recorded.
  let entry: Entry
  let context: LoadContext
  /// The blacklist entry of a URL that is loaded nevertheless.
  let known: BlacklistHead?
  /// The cached image that is read first.
  let copy: CachedCopy?
  let revalidation: Revalidation?
  private let stopping = Atomic(Stop.no)
  private let urgency: Atomic<UInt8>
  private let waiting = Mutex<PreparedOptions?>(nil)

  init(
    own: ImageName,
    shared: ImageName? = nil,
    usesShared: Bool = false,
    entry: Entry,
    context: LoadContext,
    known: BlacklistHead? = nil,
    copy: CachedCopy? = nil,
    revalidation: Revalidation? = nil
  ) {
    (self.own, self.shared) = (own, shared)
    name = usesShared ? shared ?? own : own
    self.entry = entry
    self.context = context
    self.known = known
    self.copy = copy
    self.revalidation = revalidation
    urgency = Atomic(entry.priority.rawValue)
  }

  var prepared: PreparedOptions { context.download(entry.variant, whole: entry.needsSHA256) }

  /// The image that a response brings (RFC 9111, section 3.5).
  func name(of response: DownloadResponse) -> ImageName { response.isForAnySender ? shared ?? own : own }

  /// Whether the response may be cached: its server allows it, as far as that counts, and it is known for whom it is.
  func mayKeep(_ response: DownloadResponse) -> Bool {
    guard response.freshness.isStorable || !context.followsHTTPFreshness else { return false }
    return !response.hasUnknownSender || response.isForAnySender || prepared.options.sharesAcrossCredentials
  }

  var shownText: String { String(decoding: entry.shownURL, as: UTF8.self) }

  /// The highest class of its waiters.
  var priority: LoadPriority { LoadPriority(rawValue: urgency.load(ordering: .sequentiallyConsistent)) ?? .normal }

  /// Raises its class; returns false if it is at least that high.
  func raise(to priority: LoadPriority) -> Bool {
    // A more urgent class has a lower number.
    urgency.min(priority.rawValue, ordering: .sequentiallyConsistent).oldValue > priority.rawValue
  }

  /// The options of the first request that someone waits for, if it has joined this flight of a batch.
  var awaiting: PreparedOptions? { waiting.withLock { $0 } }

  /// Whether this is the flight of a batch.
  private var isPatient: Bool { prepared.options.patience == .long }

  /// Notes that `other` joins it. Returns whether that makes it more urgent.
  func join(_ other: Flight) -> Bool {
    let isRaised = raise(to: other.entry.priority)
    guard isPatient, !other.isPatient else { return isRaised }
    return waiting.withLock { waiting in
      defer { waiting = waiting ?? other.prepared }
      return waiting == nil || isRaised
    }
  }

  /// Whether `failure` came early for `waiter`, which nobody waits for, because someone waited for the image.
  func isEarly(_ failure: ImageFailure?, for waiter: Waiter) -> Bool {
    failure?.isTransient == true && waiter.context.download.options.patience == .long && awaiting != nil
  }

  /// How it was stopped by its only waiter.
  var stop: Stop { stopping.load(ordering: .sequentiallyConsistent) }

  func stop(_ stop: Stop) {
    if stop > self.stop { stopping.store(stop, ordering: .sequentiallyConsistent) }
  }

  /// The download of this flight; if `isConditional` is false, an unconditional one.
  func download(id: UInt64, isConditional: Bool = true) -> Download {
    var download = Download(id: id, requestURL: entry.requestURL, priority: priority, sequence: entry.sequence, options: prepared)
    if isConditional, let validators = revalidation?.details.validators, !validators.isEmpty { download.validators = validators }
    download.wantsProgress = context.options.reportsProgress
    return download
  }
}

extension Flight {
  /// Whether its result may replace a cached image that isn't too old.
  var mayReplace: Bool { context.mode == .refresh || context.mode == .loaderOnly || revalidation != nil || copy != nil }

  /// Whether the hook, if there is one, allows downloading it.
  var mayBeDownloaded: Bool {
    context.options.hooks.shouldDownload.map { $0(String(decoding: entry.writtenURL, as: UTF8.self)) } ?? true
  }

  /// Whether `failure` is remembered: decided by the hook, or else by the rules.
  func blocks(_ failure: ImageFailure) -> Bool {
    // A HEAD response without any byte of the image proves too little.
    guard context.blacklist.isEnabled, context.download.options.method != .head || failure.kind == .httpStatus else {
      return false
    }
    guard let decides = context.options.hooks.shouldBlockFailedURL else { return context.blacklist.remembers(failure) }
    return decides(String(decoding: entry.writtenURL, as: UTF8.self), failure)
  }
}

/// A cached image whose bytes must be read before it counts as a hit; an object, as most requests have none.
final class CachedCopy: Sendable {
  enum Source: Sendable {
    /// A record of the context's own cache, or of a read-only one.
    case entry(ImageCache, key: CacheKey, identity: [UInt8], head: EntryHead, isOwn: Bool)
    /// A file of a flat folder, without a record.
    case file(FlatFolder)
    /// The original in memory, which only needs transforming.
    case memory(RememberedImage)
  }

  let source: Source
  /// The request headers that the record's response depends on.
  let vary: [UInt8]
  /// Whether these are the bytes of the transformed image, which only need decoding.
  let isTransformed: Bool
  /// The decoded image, if it is in memory and only its bytes are requested.
  let remembered: RememberedImage?

  init(source: Source, vary: [UInt8] = [], isTransformed: Bool = false, remembered: RememberedImage? = nil) {
    self.source = source
    self.vary = vary
    self.isTransformed = isTransformed
    self.remembered = remembered
  }

  /// The record; nil for a copy without one.
  var head: EntryHead? {
    switch source {
    case .entry(_, _, _, let head, _): head
    case .memory(let original): original.known.head
    case .file: nil
    }
  }

  /// The record of the flight's own image in the context's own cache; nil for a copy elsewhere, and for a transformed image.
  var ownHead: EntryHead? {
    if case .entry(_, _, _, let head, true) = source, !isTransformed { head } else { nil }
  }
}

final class Revalidation: Sendable {
  let head: EntryHead
  let details: EntryDetails

  init(head: EntryHead, details: EntryDetails) {
    self.head = head
    self.details = details
  }
}
