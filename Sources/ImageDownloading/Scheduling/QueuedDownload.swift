import Base

/// A transfer that has not ended, waiting or running, for one or several downloads.
final class QueuedDownload: SharedWork {
  enum Activity {
    case none
    /// Queued; it doesn't start before that time.
    case queued(notBefore: MonotonicInstant?)
    /// Waiting for another job of its identity, whose first chunks it has missed.
    case held
    /// Waiting for its host's `robots.txt`.
    case awaitingRobots
    /// In libcurl, as the scheduler's transfer of that index.
    case transferring(index: Int)
    /// In a loader, under that number.
    case loading(number: UInt64)
  }

  /// The first download; those that share its transfer have the same result.
  let download: Download
  let identity: DownloadIdentity
  var waiters: [WaitingDownload]
  private(set) var activity = Activity.none
  /// Its position in the queue when it was last added.
  var position = QueuePosition(priority: .normal, sequence: 0)
  /// Whether someone waited for it then.
  var isQueuedAsAwaited = false
  /// The job of the same identity that starts when this one has ended.
  var successor: Int?
  /// The index of its loader; nil for libcurl.
  let loader: Int?
  private(set) var route: Route
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
  private(set) var accepted: AcceptedResponse?
  /// The duration of the current attempt before its current hop.
  var attemptNanoseconds: UInt64 = 0
  /// The time since it waits for a retry.
  var retrySince: MonotonicInstant?
  /// The total of the pauses that hosts have requested from it.
  private(set) var requestedPauses = Duration.zero
  /// Attempts that ended in a requested pause, so that the next one isn't a retry.
  private(set) var excusedAttempts = 0
  /// When its current or last request began.
  private(set) var begun = MonotonicInstant(nanoseconds: 0)
  /// Whether its current request tries a host that has kept failing, for downloads that someone waits for or for others; nil: neither.
  var tryOfAwaited: Bool?
  var summary = TransferSummary()

  init(_ download: Download, identity: DownloadIdentity, client: ClientState, host: Int, loader: Int?) {
    self.download = download
    self.identity = identity
    self.host = host
    self.loader = loader
    waiters = [WaitingDownload(download, client: client)]
    route = Route(url: download.requestURL)
  }

  /// The URLs of one attempt.
  struct Route {
    /// That of the next request: the download's own, or the target of a redirect.
    var url: [UInt8]
    /// Those before that one.
    var visited: [[UInt8]] = []
    /// Whether a redirect set a cookie that the next requests may carry.
    var hasSetCookie = false
  }

  var url: [UInt8] { route.url }

  /// The reports of progress of its waiters.
  var watches: some Sequence<ProgressWatch> { waiters.lazy.compactMap(\.watch) }

  /// Whether its current request follows a redirect.
  var isRedirected: Bool { !route.visited.isEmpty }

  /// Whether its current request may carry the job's own headers and secrets.
  var isAtOwnOrigin: Bool {
    !download.options.purpose.isForOtherOrigin && (!isRedirected || URLOrigin(url) == URLOrigin(download.requestURL))
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

  var remaining: Duration { download.options.timeout - .nanoseconds(Int64(clamping: attemptNanoseconds)) }

  func summary(for waiter: WaitingDownload) -> TransferSummary {
    var summary = summary
    summary.isShared = waiter.hasJoined
    if !waiter.wantsDetails { (summary.response, summary.metrics) = (nil, nil) }
    return summary
  }

  /// Begins a request: the first of an attempt, or one that continues it.
  func begin(_ activity: Activity, now: MonotonicInstant) {
    change(to: activity)
    begun = now
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

  /// Continues the attempt with a probe, since the server lacks HEAD.
  func probeInstead() {
    refused = .head
    continueAttempt()
  }

  /// Continues the attempt, and all later ones, with a plain GET from the start, as redirects may depend on the method.
  func getInstead(of refusal: Refusal) {
    refused = .probe
    if refusal.isLesson { lesson = refusal.method }
    route = Route(url: download.requestURL)
    continueAttempt()
  }

  /// Continues the attempt with a request for the next part of the body, or for the whole body.
  func continueAttempt(from continuation: BodyContinuation? = nil) {
    self.continuation = continuation
    continues = true
  }

  /// Continues with a second request, which has the time limit of a new attempt.
  func requestAgain(keeping accepted: AcceptedResponse) {
    self.accepted = accepted
    attemptNanoseconds = 0
    continueAttempt()
  }

  /// Records that its host asks for a pause.
  func excuse(waiting duration: Duration) {
    requestedPauses += duration
    excusedAttempts += 1
  }

  /// Resets it to the download's own URL for another attempt, which resumes the body from `continuation`.
  func restart(from continuation: BodyContinuation?, now: MonotonicInstant) {
    route = Route(url: download.requestURL)
    continues = false
    self.continuation = continuation
    attemptNanoseconds = 0
    retrySince = now
  }

  /// The options of the download that waits least for its host.
  var patience: PreparedOptions {
    (waiters.first { $0.patience.isAwaited } ?? waiters.first)?.prepared ?? download.prepared
  }

  /// Whether someone waits for one of its downloads.
  var isAwaited: Bool { waiters.contains { $0.patience.isAwaited } }

  /// Attempts, except those that ended in a requested pause.
  var tries: Int { summary.attempts - excusedAttempts }

  /// The failure of a download that isn't requested again after `failure`, with which the host requested a pause of `asked`, if any; nil if
  /// it is, after that pause or as a retry.
  func lastFailure(_ failure: ImageFailure, asked: Duration?, for waiter: WaitingDownload) -> ImageFailure? {
    let options = waiter.patience
    guard failure.isTransient else { return failure }
    guard let asked else { return tries <= options.retries ? nil : failure }
    if options.isAwaited, options.retries == 0 { return .asksToWait(failure, asked: asked) }
    if requestedPauses + asked <= options.retryAfterMaximum { return nil }
    return .waitsTooLong(failure, asked: asked, waited: requestedPauses, patience: options.retryAfterMaximum)
  }
}

/// Redirects: http and https only, a limited number, no loop unless a cookie may end it.
extension QueuedDownload {
  /// Continues the attempt at the target of a redirect.
  ///
  /// A redirect back to the download's own origin gets that URL's userinfo, as a browser would send the credentials again.
  func follow(_ location: [UInt8], setsCookie: Bool, by normalizer: URLNormalizer) throws(ImageFailure) {
    if setsCookie, isAtOwnOrigin { route.hasSetCookie = true }
    let next = try target(of: location, by: normalizer)
    route.visited.append(route.url)
    route.url = next
    continues = true
  }

  private func target(of location: [UInt8], by normalizer: URLNormalizer) throws(ImageFailure) -> [UInt8] {
    let limit = download.options.redirects
    let failed = "cannot follow redirect \(route.visited.count + 1):"
    guard route.visited.count < limit else {
      throw .redirect(limit == 0 ? "the server redirects, but redirects is 0" : "more than \(limit) redirects")
    }
    var next: [UInt8] = []
    do throws(InvalidURL) {
      let base = BaseURL(normalized: url, parts: Self.parts(of: url))
      _ = try location.withRawBytes { location throws(InvalidURL) in
        try normalizer.normalize(location, relativeTo: base, into: &next)
      }
    } catch {
      throw .redirect("\(failed) \(error.message)")
    }
    addCredentials(to: &next)
    // The credentials may have made it too long.
    if URLOrigin(next) == nil { throw .redirect("\(failed) its URL is too long with the credentials of the first URL") }
    guard next == url || route.visited.contains(next) else { return next }
    if !route.hasSetCookie { throw .redirect("redirect loop") }
    if !download.options.handlesCookies { throw ImageFailure(.cookieLoop) }
    return next
  }

  private func addCredentials(to url: inout [UInt8]) {
    let own = download.requestURL
    let (ownParts, urlParts) = (Self.parts(of: own), Self.parts(of: url))
    guard !ownParts.userInfo.isEmpty, urlParts.userInfo.isEmpty else { return }
    guard URLOrigin(own, ownParts) == URLOrigin(url, urlParts) else { return }
    url.insert(contentsOf: own[ownParts.userInfo] + [UInt8(ascii: "@")], at: urlParts.host.lowerBound)
  }

  private static func parts(of normalized: [UInt8]) -> URLParts {
    normalized.withUnsafeBytes { URLNormalizer.parts(ofNormalForm: $0)! }
  }
}

extension ImageFailure {
  fileprivate static func redirect(_ message: String) -> ImageFailure { ImageFailure(.redirects, message: message) }
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

/// An accepted response, kept while the same request is made again to see the status of caches on the way.
///
/// A class, so that jobs stay small: few have one.
final class AcceptedResponse {
  private let response: DownloadResponse

  init(_ response: DownloadResponse) { self.response = response }

  /// The response with the outcome of the second request.
  func response(after second: TransferOutcome) -> DownloadResponse {
    var response = response
    response.remoteCache =
      switch second {
      case .remoteCache(let found): found
      case .failure(let failure): RemoteCacheResponse(.unknown, failure: failure)
      case .response, .redirect, .needsMore, .startOver, .refused:
        RemoteCacheResponse(.unknown, failure: ImageFailure(.redirects, message: "the server redirects the second request"))
      }
    return response
  }
}
