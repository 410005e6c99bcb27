public import ImageCaching
public import ImageDownloading
public import ImagePrimitives
import Synchronization

/// How a load uses the cache, and whether it may use the network.
public enum CacheMode: Sendable {
  /// Look in the cache, ask the network for what is not there, and keep it.
  case use
  /// Always ask the network; neither the cache nor the blacklist is read or written.
  case bypass
  /// Never ask the network.
  case only
  /// Never ask the network, and tell by ``Outcome/skipped`` what ``use`` would ask for; nothing is written, and no body is read.
  case dryRun

  /// Whether a miss is asked for.
  var asksNetwork: Bool { self == .use || self == .bypass }
}

/// What one job asks of its loads: the cache, and the rules for requests, verification and the blacklist.
///
/// Loads share a request only within one context, since another's rules could change the result.
public final class LoadContext: Sendable {
  /// The cache; nil with ``CacheMode/bypass``, and where there is none to look in.
  public let cache: ImageCache?
  /// How the cache and the network are used.
  public let mode: CacheMode
  /// How images are fetched.
  public let download: DownloadOptions
  /// What an image must be to be good.
  public let verification: VerificationRules
  /// Which failures are remembered.
  public let blacklist: BlacklistRules
  /// When the run of this context began: what it stores is trimmed last.
  public let startedAt: Timestamp

  /// Hashes the credentials of URLs for their identities.
  let credentialHasher: CredentialHasher
  private let notes = Mutex(Notes())

  private struct Notes {
    var trimmed = TrimResult()
    var warnings: [String] = []
    var furtherWarnings = 0
  }

  /// So many warnings are kept, and the others counted.
  private static let warningLimit = 50

  /// A context; ``CacheMode/use`` without a cache is a programmer's error and traps.
  public init(
    cache: ImageCache?,
    mode: CacheMode = .use,
    download: DownloadOptions,
    verification: VerificationRules = VerificationRules(),
    blacklist: BlacklistRules = BlacklistRules(),
    startedAt: Timestamp
  ) {
    precondition(cache != nil || mode != .use, "a load that uses the cache needs one")
    self.cache = mode == .bypass ? nil : cache
    self.mode = mode
    self.download = download
    self.verification = verification
    self.blacklist = blacklist
    self.startedAt = startedAt
    credentialHasher = cache?.credentialHasher ?? CredentialHasher.random()
  }

  /// Whether what is on the blacklist is asked for all the same, or would be.
  var retriesBlacklisted: Bool { blacklist.retriesFailed && mode != .only }

  /// What trimming has removed from the cache on behalf of this context so far.
  public var trimmed: TrimResult { notes.withLock { $0.trimmed } }

  /// Sentences on what went wrong beside the loads themselves, each once; the first ones, and how many there were beside them.
  public var warnings: [String] {
    notes.withLock { $0.warnings + ($0.furtherWarnings > 0 ? ["\($0.furtherWarnings) further warnings of this kind"] : []) }
  }

  /// Adds what a trim removed.
  public func recordTrim(_ result: TrimResult) {
    notes.withLock { notes in
      notes.trimmed.expired += result.expired
      notes.trimmed.trimmed += result.trimmed
      notes.trimmed.evictedProtected += result.evictedProtected
      notes.trimmed.bytesRemoved += result.bytesRemoved
    }
  }

  /// Adds a warning, unless it is there already.
  public func recordWarning(_ sentence: String) {
    notes.withLock { notes in
      if notes.warnings.contains(sentence) { return }
      if notes.warnings.count < Self.warningLimit { notes.warnings.append(sentence) } else { notes.furtherWarnings += 1 }
    }
  }
}
