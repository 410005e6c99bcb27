import Base

/// A transfer that has not ended, waiting or running, for one or several downloads.
final class PendingTransfer {
  enum Activity {
    /// Between two of the others.
    case none
    /// Queued; it doesn't start before that time.
    case queued(notBefore: MonotonicInstant?)
    /// Waiting for another job of its identity, whose first chunks it has missed.
    case held
    /// Waiting for its host's `robots.txt`.
    case awaitingRobots
    /// In libcurl, as the loop's transfer of that index.
    case transferring(index: Int)
    /// In a loader, under that number.
    case loading(number: UInt64)
  }

  /// The first download; those that share its transfer have the same result.
  let download: Download
  let identity: DownloadIdentity
  var waiters: Waiters
  private(set) var activity = Activity.none
  /// Its position in the queue when it was last added.
  var position = Waiters.Position(priority: .normal, sequence: 0)
  /// The job of the same identity that starts when this one has ended.
  var successor: Int?
  /// The index of its loader; nil for libcurl.
  let loader: Int?
  /// The URL of the next request: the download's own, or the target of a redirect.
  var url: [UInt8]
  /// The URLs of this attempt before that one.
  var visited: [[UInt8]] = []
  /// Whether a redirect of this attempt set a cookie that its next requests may carry.
  private(set) var hasSetCookie = false
  /// The number of the URL's host.
  var host: Int
  /// Whether it continues an attempt: the next hop of a redirect, a request after a refused one, or the next part of a body.
  private(set) var continues = false
  /// The method that a server has refused: after HEAD it is probed, after a probe it is fetched by a plain GET.
  private(set) var refused: DownloadOptions.Method?
  /// The method that its server lacks if it succeeds.
  private(set) var lesson: DownloadOptions.Method?
  /// The part of the body that the next request resumes from.
  private(set) var continuation: BodyContinuation?
  /// Whether its waiters have chunks of the body.
  var hasHandedOver = false
  /// The accepted response, while a second request is made.
  private(set) var accepted: AcceptedResponse?
  /// The duration of the current attempt before its current hop.
  var attemptNanoseconds: UInt64 = 0
  /// The time since it waits for a retry.
  var retrySince: MonotonicInstant?
  /// The total of the pauses that hosts have requested from it.
  private(set) var requestedPauses = Duration.zero
  /// Attempts that ended in a requested pause, so that the next one isn't a retry.
  private(set) var excusedAttempts = 0
  var summary = TransferSummary()

  init(_ download: Download, identity: DownloadIdentity, client: ClientState, host: Int, loader: Int?) {
    self.download = download
    self.identity = identity
    self.host = host
    self.loader = loader
    waiters = Waiters(Waiter(download, client: client))
    url = download.requestURL
  }

  /// Whether its current request follows a redirect.
  var isRedirected: Bool { !visited.isEmpty }

  /// Whether its current request may carry the job's own headers and secrets.
  var isAtOwnOrigin: Bool {
    !download.options.isForOtherOrigin && (!isRedirected || URLOrigin(url) == URLOrigin(download.requestURL))
  }

  /// Whether its next request may share a connection with others.
  var mayUseHTTP2: Bool { download.options.connection.httpVersion != .http1 && url.starts(with: "https:".utf8) }

  /// Whether it has not started, or waits for a retry.
  var isWaiting: Bool {
    switch activity {
    case .queued, .awaitingRobots: !continues
    case .held: true
    case .none, .transferring, .loading: false
    }
  }

  /// Changes its activity, and updates its clients' counts of waiting downloads.
  func change(to activity: Activity) {
    let hasWaited = isWaiting
    self.activity = activity
    guard isWaiting != hasWaited else { return }
    let change = hasWaited ? -1 : 1
    waiters.forEach { $0.client.waiting += change }
  }

  /// The time left for its attempt.
  var remaining: Duration { download.options.timeout - .nanoseconds(Int64(clamping: attemptNanoseconds)) }

  /// The costs as reported to `waiter`.
  func summary(for waiter: Waiter) -> TransferSummary {
    var summary = summary
    summary.isShared = waiter.hasJoined
    if !waiter.wantsDetails { summary.details = nil }
    return summary
  }

  /// Begins a request: the first of an attempt, or one that continues it.
  func begin(_ activity: Activity, now: MonotonicInstant) {
    change(to: activity)
    if !continues { summary.attempts += 1 }
    if let since = retrySince { summary.waitedNanoseconds += now.since(since).wholeNanoseconds }
    retrySince = nil
  }

  /// Adds the cost of a request.
  func end(nanoseconds: UInt64, receivedBytes: UInt64) {
    change(to: .none)
    summary.receivedBytes += receivedBytes
    // The duration excludes the second request.
    guard accepted == nil else { return }
    attemptNanoseconds += nanoseconds
    summary.durationNanoseconds += nanoseconds
  }

  /// Records the cookies of a redirect, before it is followed.
  func note(setsCookie: Bool) {
    if setsCookie, isAtOwnOrigin { hasSetCookie = true }
  }

  /// Continues the attempt at another URL.
  func follow(to url: [UInt8]) {
    visited.append(self.url)
    self.url = url
    continues = true
  }

  /// Continues the attempt with a probe, since the server lacks HEAD.
  func probeInstead() {
    refused = .head
    continues = true
  }

  /// Continues the attempt with a plain GET, as all later ones, since HEAD or a probe failed: from the start, as redirects may depend on
  /// the method.
  func getInstead(of refusal: Refusal) {
    refused = .probe
    if refusal.isLesson { lesson = refusal.method }
    url = download.requestURL
    visited = []
    hasSetCookie = false
    startOver()
  }

  /// Continues the attempt with the next part of the body.
  func continueProbe(from continuation: BodyContinuation) {
    self.continuation = continuation
    continues = true
  }

  /// Continues with a second request, which has the time limit of a new attempt.
  func requestAgain(keeping accepted: AcceptedResponse) {
    self.accepted = accepted
    continuation = nil
    attemptNanoseconds = 0
    continues = true
  }

  /// Records that its host asks for a pause.
  func excuse(waiting duration: Duration) {
    requestedPauses += duration
    excusedAttempts += 1
  }

  /// Continues the attempt with a request for the whole body, since the remaining part can't be used.
  func startOver() {
    continuation = nil
    continues = true
  }

  /// Resets it to the download's own URL for another attempt, which resumes the body from `continuation`.
  func restart(from continuation: BodyContinuation?, now: MonotonicInstant) {
    url = download.requestURL
    visited = []
    hasSetCookie = false
    continues = false
    self.continuation = continuation
    attemptNanoseconds = 0
    retrySince = now
  }
}

/// The jobs that have not ended, by slot and by identity.
struct PendingTransferTable {
  private var pending: [PendingTransfer?] = []
  private var free: [Int] = []
  private var slots: [DownloadIdentity: Int] = [:]

  /// Inserts a job and returns its slot; if `isFound` is false, look-ups still find the other job of its identity.
  mutating func insert(_ job: PendingTransfer, isFound: Bool) -> Int {
    let slot = free.popLast() ?? pending.count
    if slot == pending.count { pending.append(job) } else { pending[slot] = job }
    if isFound { slots[job.identity] = slot }
    return slot
  }

  /// Removes a job; its slot may be reused at once. If look-ups found it, they find its successor now; otherwise `found` is the job
  /// that it waited for.
  mutating func remove(_ slot: Int) -> (job: PendingTransfer, found: Int?) {
    guard let job = pending[slot].take() else { preconditionFailure("slot \(slot) has no job") }
    free.append(slot)
    guard let index = slots.index(forKey: job.identity) else { return (job, nil) }
    guard slots.values[index] == slot else { return (job, slots.values[index]) }
    if let successor = job.successor { slots.values[index] = successor } else { slots.remove(at: index) }
    return (job, nil)
  }

  func slot(of identity: DownloadIdentity) -> Int? { slots[identity] }

  subscript(slot: Int) -> PendingTransfer { pending[slot]! }
}

/// Identifies a transfer: downloads of equal identity have the same result and share it.
struct DownloadIdentity: Hashable {
  private let url: [UInt8]
  private let validators: Validators?
  private let options: PreparedOptions
  /// Computed once: tables ask for it at each step of a download.
  private let hash: Int

  init(_ download: Download) {
    url = download.requestURL
    validators = download.validators
    options = download.prepared
    var hasher = Hasher()
    url.withUnsafeBytes { hasher.combine(bytes: $0) }
    hasher.combine(options)
    if let validators { hasher.combine(validators) }
    hash = hasher.finalize()
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  static func == (left: DownloadIdentity, right: DownloadIdentity) -> Bool {
    left.hash == right.hash && left.url == right.url && left.validators == right.validators && left.options == right.options
  }
}
