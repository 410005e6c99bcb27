import ImagePrimitives

/// A download that has not ended, waiting or running.
struct Job {
  let download: Download
  /// Where the next request goes: the download's own URL, or where redirects have led.
  var url: [UInt8]
  /// The URLs of this attempt before that one.
  var visited: [[UInt8]] = []
  /// The number of the URL's host.
  var host: Int
  /// The place of its transfer; nil while it waits.
  var place: Int?
  /// What this attempt has taken before its present hop.
  var attemptNanoseconds: UInt64 = 0
  /// Since when it waits for a retry.
  var retrySince: MonotonicInstant?
  var summary = TransferSummary()
  /// Whether a transient failure is tried again.
  var mayRetry = true

  init(_ download: Download, host: Int) {
    self.download = download
    self.host = host
    url = download.url
  }

  /// Whether its present request follows a redirect, so that it belongs to an attempt that already began.
  var isRedirected: Bool { !visited.isEmpty }

  /// Whether it has not begun, or waits to begin again.
  var isWaiting: Bool { place == nil && !isRedirected }

  /// What its attempt may still take.
  var remaining: Duration { download.options.timeout - .nanoseconds(Int64(clamping: attemptNanoseconds)) }

  /// Begins a request: the first of an attempt, or the next hop.
  mutating func begin(place: Int, now: MonotonicInstant) {
    self.place = place
    if !isRedirected { summary.attempts += 1 }
    if let since = retrySince { summary.waitedNanoseconds += now.nanoseconds - since.nanoseconds }
    retrySince = nil
  }

  /// Adds what a request cost, before its transfer is used again.
  mutating func end(_ transfer: Transfer, now: MonotonicInstant) {
    let taken = now.nanoseconds - transfer.started.nanoseconds
    place = nil
    attemptNanoseconds += taken
    summary.durationNanoseconds += taken
    summary.receivedBytes += transfer.receivedBytes
  }

  /// Goes on with the same attempt at another URL.
  mutating func follow(to url: [UInt8]) {
    visited.append(self.url)
    self.url = url
  }

  /// Goes back to the download's own URL, to wait for another attempt.
  mutating func restart(now: MonotonicInstant) {
    url = download.url
    visited = []
    attemptNanoseconds = 0
    retrySince = now
  }
}

/// The downloads that have not ended, by small numbers and by id.
struct JobTable {
  private var jobs: [Job?] = []
  private var free: [Int] = []
  private var slots: [UInt64: Int] = [:]

  /// Traps where a download of that id has not ended, which is the caller's error.
  mutating func insert(_ job: Job) -> Int {
    let slot = free.popLast() ?? jobs.count
    if slot == jobs.count { jobs.append(job) } else { jobs[slot] = job }
    let previous = slots.updateValue(slot, forKey: job.download.id)
    precondition(previous == nil, "download \(job.download.id) has not ended yet")
    return slot
  }

  /// Its slot may be used again at once.
  mutating func remove(_ slot: Int) -> Job {
    let job = self[slot]
    jobs[slot] = nil
    free.append(slot)
    slots[job.download.id] = nil
    return job
  }

  func slot(of id: UInt64) -> Int? { slots[id] }

  /// The slots in use.
  var inUse: [Int] { jobs.indices.filter { jobs[$0] != nil } }

  subscript(slot: Int) -> Job {
    get { jobs[slot]! }
    _modify { yield &jobs[slot]! }
  }
}
