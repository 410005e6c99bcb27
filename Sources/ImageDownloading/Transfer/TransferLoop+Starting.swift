import CCurl
import ImagePrimitives

/// How jobs start.
extension TransferLoop {
  /// Starts all that may start, and returns what keeps the rest.
  func startWaiting() -> StartLimit {
    let startsNew = startsNew
    var hasStarted = false
    while true {
      switch queue.next(now: iteration.now, startsNew: startsNew) {
      case .start(let slot, let resolves):
        if let loader = pending[slot].loader {
          startLoad(slot, by: loaders[loader], resolves: resolves)
        } else {
          start(slot, resolves: resolves)
        }
        hasStarted = true
      case .none(let limit):
        if hasStarted {
          multi.actOnTime()
          notifyChunks()
          notifyProgress()
          // What advanced or ended at once may let others start.
          let hasAdvanced = noteAdvances()
          hasMore = concludeEnded() || hasAdvanced
        } else {
          hasMore = false
        }
        return limit
      }
    }
  }

  /// Whether more than what already began may start.
  var startsNew: Bool { !isSuspended && !clients.values.contains(where: \.holdsBack) }

  private func start(_ slot: Int, resolves: Bool) {
    let options = pending[slot].download.prepared
    let kind = RequestTemplate.Kind(
      prepared: options,
      isOwnOrigin: pending[slot].isAtOwnOrigin,
      method: method(of: pending[slot])
    )
    let ownRequest: OwnRequest?
    do throws(Failure) {
      ownRequest = try OwnRequest(for: pending[slot], kind, defaults: defaultHeaders)
    } catch {
      return refuse(slot, error, resolves: resolves)
    }
    let place = free.popLast() ?? transfers.count
    if place == transfers.count {
      transfers.append(Transfer(place: place, options: options, iteration: iteration, shares: shares))
    }
    let transfer = transfers[place]
    pending[slot].begin(.transferring(place: place), now: iteration.now)
    transfer.begin(pending[slot], slot: slot, kind, ownRequest, defaults: defaultHeaders, resolves: resolves)
    transfer.isObserved = !watches.isEmpty && watches[slot] != nil
    iteration.nextTimeLimit = min(iteration.nextTimeLimit, transfer.earliestTimeLimit)
    let code = multi.add(transfer.easy)
    guard code != CURLM_OK else { return notifyStarted(slot) }
    release(transfer, of: slot)
    settle(slot, .failure(Failure(.internal, message: "libcurl took no request: \(String(cString: curl_multi_strerror(code)))")))
  }

  /// How the next request of `job` asks: as its options say, but for servers that answer no HEAD, and decryptors, which read no
  /// prefix.
  private func method(of job: PendingTransfer) -> DownloadOptions.Method {
    let options = job.download.options
    let isRefused = job.isHeadRefused || job.continuation != nil || headRefusals.contains(job.url)
    if options.method == .head && !isRefused || options.method == .get { return options.method }
    return options.decryptor == nil ? .probe : .get
  }

  /// Ends a job that was to start, before any request is made.
  private func refuse(_ slot: Int, _ failure: Failure, resolves: Bool) {
    pending[slot].change(to: .none)
    if resolves { queue.resolved() }
    queue.finished(host: pending[slot].host, failedToConnect: true, wasRequested: false)
    settle(slot, .failure(failure))
  }

  /// Lets others of a host start where the first has resolved or connected; true where there was any.
  @discardableResult
  func noteAdvances() -> Bool {
    guard !iteration.advanced.isEmpty else { return false }
    for place in iteration.advanced {
      let transfer = transfers[place]
      guard transfer.resolves, let slot = transfer.job else { continue }
      if transfer.isCountedAsResolving, transfer.phase != .resolving { countAsResolved(transfer) }
      if transfer.phase == .connected { queue.connected(host: pending[slot].host) }
    }
    iteration.advanced.removeAll(keepingCapacity: true)
    return true
  }

  func countAsResolved(_ transfer: Transfer) {
    transfer.isCountedAsResolving = false
    queue.resolved()
  }
}

/// The origins whose servers answer no HEAD, so that their other URLs are probed at once.
struct HeadRefusals {
  /// Beyond so many origins all are forgotten, and learned anew.
  private static let maximumCount = 4096

  private var origins: Set<URLOrigin> = []

  /// Notes the origin of a normalised URL.
  mutating func insert(_ url: [UInt8]) {
    guard let origin = URLOrigin(url) else { return }
    if origins.count >= Self.maximumCount { origins.removeAll() }
    origins.insert(URLOrigin(copying: origin))
  }

  func contains(_ url: [UInt8]) -> Bool {
    guard !origins.isEmpty, let origin = URLOrigin(url) else { return false }
    return origins.contains(origin)
  }
}
