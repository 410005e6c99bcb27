import ImageCaching
import ImageDownloading
import ImagePrimitives
import ImageURLs
import Synchronization

/// One identity on its way: from the moment it is asked for until its result is final.
final class Flight: Sendable {
  /// How far a flight was told to stop.
  enum Stop: UInt8, AtomicRepresentable, Comparable {
    case no
    /// Nothing further may start for it; what runs goes on.
    case nothingNew
    /// What runs is to end too.
    case now

    static func < (left: Stop, right: Stop) -> Bool { left.rawValue < right.rawValue }
  }

  let key: CacheKey
  let identity: [UInt8]
  /// The entry that began it; its URLs are those that are requested and recorded.
  let entry: Entry
  let context: LoadContext
  /// What the blacklist says of a URL that is loaded all the same.
  let known: BlacklistHead?
  /// The cached image that is read first.
  let copy: CachedCopy?
  /// The cached image that the network is asked about.
  let revalidation: Revalidation?
  private let stopping = Atomic(Stop.no)
  private let urgency: Atomic<UInt8>

  init(
    key: CacheKey,
    identity: [UInt8],
    entry: Entry,
    context: LoadContext,
    known: BlacklistHead? = nil,
    copy: CachedCopy? = nil,
    revalidation: Revalidation? = nil
  ) {
    self.key = key
    self.identity = identity
    self.entry = entry
    self.context = context
    self.known = known
    self.copy = copy
    self.revalidation = revalidation
    urgency = Atomic(entry.priority.rawValue)
  }

  /// How it is fetched.
  var prepared: PreparedOptions { context.download(entry.variant) }

  /// The URL for a sentence.
  var shownText: String { String(decoding: entry.shownURL, as: UTF8.self) }

  /// The class of the most urgent of those who share it.
  var priority: Priority { Priority(rawValue: urgency.load(ordering: .sequentiallyConsistent)) ?? .normal }

  /// Raises its class; false where it is that high already.
  func raise(to priority: Priority) -> Bool {
    // A more urgent class has a lower number.
    urgency.min(priority.rawValue, ordering: .sequentiallyConsistent).oldValue > priority.rawValue
  }

  /// How far it was told to stop, by whoever alone waits for it.
  var stop: Stop { stopping.load(ordering: .sequentiallyConsistent) }

  /// Tells it to stop; what was told once is not taken back.
  func stop(_ stop: Stop) {
    if stop > self.stop { stopping.store(stop, ordering: .sequentiallyConsistent) }
  }

  /// The transfer that this flight asks for; `isConditional` false asks for the body whatever is cached.
  func download(id: UInt64, isConditional: Bool = true) -> Download {
    var download = Download(id: id, requestURL: entry.requestURL, priority: priority, sequence: entry.sequence, options: prepared)
    if isConditional, let validators = revalidation?.details.validators, !validators.isEmpty { download.validators = validators }
    download.wantsProgress = context.options.reportsProgress
    return download
  }
}

extension Flight {
  /// Whether what comes may stand in for something that is cached and not too old.
  var mayReplace: Bool { context.mode == .refresh || context.mode == .loaderOnly || revalidation != nil || copy != nil }

  /// Whether the hook, where there is one, lets it be fetched.
  var mayBeDownloaded: Bool {
    context.options.hooks.shouldDownload.map { $0(String(decoding: entry.writtenURL, as: UTF8.self)) } ?? true
  }

  /// Whether `failure` is remembered: by the hook's word, else by the rules.
  func blocks(_ failure: Failure) -> Bool {
    // A server's word alone, without a byte of the image, is too little to go by.
    guard context.blacklist.isEnabled, context.download.options.method != .head || failure.kind == .httpStatus else {
      return false
    }
    guard let decides = context.options.hooks.shouldBlockFailedURL else { return context.blacklist.remembers(failure) }
    return decides(String(decoding: entry.writtenURL, as: UTF8.self), failure)
  }
}

/// Where the bytes of a cached image are that must be read before it counts as a hit; an object, as most requests have none.
final class CachedCopy: Sendable {
  enum Source: Sendable {
    /// A record of the context's own cache, or of a read-only one.
    case entry(ImageCache, key: CacheKey, identity: [UInt8], head: EntryHead, isOwn: Bool)
    /// A file of a flat folder, of which nothing is known yet.
    case file(FlatFolder)
    /// The original in memory, of which only a transform is missing.
    case memory(RememberedImage)
  }

  let source: Source
  /// The request headers that the record's answer depends on.
  let vary: [UInt8]
  /// Whether these are bytes of the transformed image, so that nothing is left to do but to decode them.
  let isTransformed: Bool
  /// The decoded image, where memory has it and only the bytes are wanted.
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
    case .memory(let original): original.head
    case .file: nil
    }
  }

  /// The record of the flight's own image in the context's own cache; nil for a copy elsewhere, and for a transformed image.
  var ownHead: EntryHead? {
    if case .entry(_, _, _, let head, true) = source, !isTransformed { head } else { nil }
  }
}

/// The record that the network is asked about.
final class Revalidation: Sendable {
  let head: EntryHead
  let details: EntryDetails

  init(head: EntryHead, details: EntryDetails) {
    self.head = head
    self.details = details
  }
}
