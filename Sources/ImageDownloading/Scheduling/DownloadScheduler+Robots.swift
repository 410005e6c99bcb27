import Base

/// Fetching hosts' rules for robots before anything else (RFC 9309).
///
/// The scheduler fetches the files by downloads of its own, within all limits; jobs wait for them outside the queue.
extension DownloadScheduler {
  /// Whether a job may be queued now. If not, it waits for its host's rules or was ended by them.
  func admitsByRobots(_ slot: Int) -> Bool {
    let key = robotsKey(of: slot)
    switch robots.policy(key, now: now) {
    case .rules(let rules):
      let url = pending[slot].url
      let target = url.withUnsafeBytes { URLNormalizer.parts(ofNormalForm: $0)?.requestTarget } ?? 0..<0
      guard let refusal = rules.refusal(of: url[target]) else { return true }
      end(slot, .refusedByRobots(key.origin, refusal))
      return false
    case .unreachable(let failure):
      end(slot, .robotsUnreachable(key.origin, failure))
      return false
    case nil:
      awaitRobots(slot, key)
      return false
    }
  }

  private func robotsKey(of slot: Int) -> RobotsRegistry.Key {
    guard let origin = URLOrigin(pending[slot].url) else { preconditionFailure("only http and https URLs have robots rules") }
    return RobotsRegistry.Key(
      origin: origin,
      server: hosts.origin(pending[slot].host),
      token: robots.token(for: pending[slot].download.prepared, defaults: configuration.headers)
    )
  }

  private func awaitRobots(_ slot: Int, _ key: RobotsRegistry.Key) {
    pending[slot].change(to: .awaitingRobots)
    let job = pending[slot]
    let best = job.waiters.best
    guard let number = robots.wait(slot, for: key) else { return promote(key, best.priority) }
    let isOwnOrigin = URLOrigin(job.download.requestURL) == key.origin
    let url = "\(key.origin.isSecure ? "https" : "http")://\(key.origin.written)/robots.txt"
    submit(
      Download(
        id: number,
        requestURL: Array(url.utf8),
        priority: best.priority,
        sequence: best.sequence,
        options: PreparedOptions(job.download.options.forRobots(isOwnOrigin: isOwnOrigin))
      ),
      of: robotsClient
    )
  }

  /// Raises the priority of a file's download to that of the most urgent waiting job.
  private func promote(_ key: RobotsRegistry.Key, _ priority: LoadPriority) {
    guard let number = robots.number(of: key), let slot = robotsClient.slots[number] else { return }
    if pending[slot].waiters.best.priority < priority { setPriority(priority, of: number, of: robotsClient) }
  }

  /// Ends a job's waiting for rules; a file that isn't needed any more isn't fetched.
  func leaveRobots(_ slot: Int) {
    let unwanted = robots.leave(slot, robotsKey(of: slot))
    pending[slot].change(to: .none)
    if let unwanted { cancel(unwanted, of: robotsClient, includingRunning: true) }
  }

  /// Handles the fetched files and resumes the jobs that waited for them; returns true if there were any.
  func takeRobots() -> Bool {
    var hasEnded = false
    for event in robotsClient.takeEvents() {
      guard let key = robots.key(of: event.id) else { continue }
      let policy: RobotsRegistry.Policy?
      switch event {
      case .finished(_, let response) where !response.wasStreamed: policy = .rules(RobotsRules(response.body, for: key.token))
      // The first chunk is as much as is read.
      case .chunk(_, _, let bytes): policy = .rules(RobotsRules(bytes, for: key.token))
      case .failed(_, let failure, _): policy = RobotsRegistry.Policy(failure)
      case .cancelled: policy = nil
      case .finished, .notModified, .restarted, .started, .response, .progress, .retrying: continue
      }
      hasEnded = true
      for slot in robots.conclude(event.id, policy, now: now) {
        pending[slot].change(to: .none)
        enqueue(slot)
      }
      // Only needed if the file is larger than the part that is read.
      cancel(event.id, of: robotsClient, includingRunning: true)
    }
    return hasEnded
  }
}

extension RobotsRegistry.Policy {
  /// The policy after a failed download (RFC 9309, section 2.3.1).
  init(_ failure: ImageFailure) {
    switch failure.kind {
    case .redirects: self = .rules(RobotsRules())
    case .httpStatus where !(500...599).contains(failure.status ?? 0): self = .rules(RobotsRules())
    default: self = .unreachable(failure)
    }
  }
}

extension ImageFailure {
  fileprivate static func refusedByRobots(_ origin: URLOrigin, _ refusal: RobotsRules.Disallowance) -> ImageFailure {
    guard let rule = refusal.rule else {
      return ImageFailure(.robots, message: "robots.txt of \(origin.address) has too many rules to match a URL this long")
    }
    return ImageFailure(.robots, message: "robots.txt of \(origin.address) disallows it: '\(rule)', line \(refusal.line)")
  }

  /// If the server fails to respond, the URL is disallowed. Other failures would also occur without a `robots.txt` and keep their kind.
  fileprivate static func robotsUnreachable(_ origin: URLOrigin, _ failure: ImageFailure) -> ImageFailure {
    let (before, after) = (
      "robots.txt of \(origin.address) couldn't be fetched (", "), so nothing may be requested (RFC 9309, 2.3.1.4)"
    )
    let message = before + failure.message + after
    var robots =
      failure.kind == .httpStatus
      ? ImageFailure(.robots, message: message)
      : ImageFailure(failure.kind, isTransient: failure.isTransient, message: message)
    robots.reason = failure.reason.map { .quoted(before: before, $0, after: after) }
    return robots
  }
}
