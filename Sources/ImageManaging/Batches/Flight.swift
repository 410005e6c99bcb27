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
  /// The URL that is requested, credentials included.
  let url: [UInt8]
  let parts: URLParts
  let sequence: Int64
  /// Which of the context's ways to ask is meant.
  let variant: UInt16
  let context: LoadContext
  /// What the blacklist says of a URL that is loaded all the same.
  let known: BlacklistHead?
  /// The cached image that is read first.
  let copy: CachedCopy?
  /// The cached image that the network is asked about.
  let revalidation: Revalidation?
  /// As it was first written, where that differs.
  private let otherwiseWritten: [UInt8]?
  private let stopping = Atomic(Stop.no)
  private let urgency: Atomic<UInt8>

  init(
    key: CacheKey,
    identity: [UInt8],
    request: LoadRequest,
    in bytes: UnsafeRawBufferPointer,
    context: LoadContext,
    known: BlacklistHead? = nil,
    copy: CachedCopy? = nil,
    revalidation: Revalidation? = nil
  ) {
    self.key = key
    self.identity = identity
    url = Array(bytes[request.url])
    parts = request.parts
    sequence = request.sequence
    variant = request.variant
    self.context = context
    self.known = known
    self.copy = copy
    self.revalidation = revalidation
    otherwiseWritten = request.written == request.url ? nil : Array(bytes[request.written])
    urgency = Atomic(request.priority.rawValue)
  }

  /// How it is fetched.
  var options: DownloadOptions { context.download(variant) }

  /// The URL as it was first written, credentials included.
  var written: [UInt8] { otherwiseWritten ?? url }

  /// The URL as it was first written and as it may be kept: without its credentials.
  var shownURL: [UInt8] { written.withRawBytes(maskingCredentials) }

  /// The URL for a sentence.
  var shownText: String { String(decoding: shownURL, as: UTF8.self) }

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
    var download = Download(id: id, url: url, priority: priority, sequence: sequence, options: options)
    if isConditional, let validators = revalidation?.details.validators, !validators.isEmpty { download.validators = validators }
    download.wantsProgress = context.parts.reportsProgress
    return download
  }

  /// Calls `body` with a request for the same image by another context, and the bytes that it lies in.
  func withRequest<R>(
    id: UInt64,
    priority: Priority,
    _ body: (LoadRequest, UnsafeRawBufferPointer) -> R
  ) -> R {
    let bytes = url + (otherwiseWritten ?? [])
    let request = LoadRequest(
      id: id,
      url: 0..<url.count,
      written: otherwiseWritten == nil ? nil : url.count..<bytes.count,
      parts: parts,
      priority: priority,
      sequence: sequence,
      variant: variant
    )
    return bytes.withUnsafeBytes { body(request, $0) }
  }
}

extension Flight {
  /// Whether what comes may stand in for something that is cached and not too old.
  var mayReplace: Bool { context.mode == .refresh || context.mode == .loaderOnly || revalidation != nil || copy != nil }

  /// Whether the hook, where there is one, lets it be fetched.
  var mayBeDownloaded: Bool {
    context.parts.hooks.shouldDownload.map { $0(String(decoding: written, as: UTF8.self)) } ?? true
  }

  /// Whether `failure` is remembered: by the hook's word, else by the rules.
  func blocks(_ failure: Failure) -> Bool {
    // A server's word alone, without a byte of the image, is too little to go by.
    guard context.blacklist.isEnabled, context.download.method != .head || failure.kind == .httpStatus else { return false }
    guard let decides = context.parts.hooks.shouldBlockFailedURL else { return context.blacklist.remembers(failure) }
    return decides(String(decoding: written, as: UTF8.self), failure)
  }
}
