import Base
import ImageDownloading
import Synchronization
import TestOrigin
import TestSupport

/// A receiver that records all events, and lets a test wait for them.
final class Recorder: DownloadReceiver {
  struct State {
    var events: [DownloadEvent] = []
    /// The ends of downloads, in order.
    var ends: [End] = []
  }

  private let state = Watched(State())
  private let hasRoom = Mutex(true)

  var mayStart: Bool {
    get { hasRoom.withLock { $0 } }
    set { hasRoom.withLock { $0 = newValue } }
  }

  func receive(_ events: [DownloadEvent]) {
    state.withLock { state in
      state.events += events
      state.ends += events.compactMap { End($0) }
    }
  }

  /// All events so far.
  var events: [DownloadEvent] { state.value.events }

  /// The ends so far, in order.
  var ends: [End] { state.value.ends }

  /// Waits until `count` downloads have ended, and returns their ends in order.
  func waitForEnds(_ count: Int) async throws -> [End] {
    try await state.wait(for: "\(count) ends") { $0.ends.count >= count }
    return ends
  }

  /// Waits until download `id` has ended `count` times, and returns its last end.
  @discardableResult func waitForEnd(of id: UInt64, count: Int = 1) async throws -> End {
    try await state.wait(for: "the end of \(id)") { $0.ends.count { $0.id == id } >= count }
    return ends.last { $0.id == id }!
  }

  /// The body of an ended download, joined from its chunks if it was streamed; nil if it failed.
  func body(of end: End) -> [UInt8]? {
    guard let image = end.image, image.wasStreamed else { return end.image?.body }
    return events.reduce(into: []) { body, event in
      switch event {
      case .chunk(end.id, _, let bytes): body += bytes
      case .restarted(end.id): body = []
      default: break
      }
    }
  }

  /// Waits for an event that meets a condition.
  func waitForEvent(where condition: @escaping @Sendable (DownloadEvent) -> Bool) async throws {
    try await state.wait(for: "an event") { $0.events.contains(where: condition) }
  }
}

/// The end of a download.
struct End {
  var id: UInt64
  var image: DownloadResponse?
  var failure: ImageFailure?
  var summary: TransferSummary
  var metrics: TransferMetrics? { summary.metrics }
  var isCancelled = false
  var isNotModified = false

  init?(_ event: DownloadEvent) {
    switch event {
    case .started, .response, .progress, .chunk, .retrying, .restarted: return nil
    case .finished(let id, let image): (self.id, self.image, summary) = (id, image, image.summary)
    case .notModified(let id, let image): (self.id, self.image, summary, isNotModified) = (id, image, image.summary, true)
    case .failed(let id, let failure, let summary): (self.id, self.failure, self.summary) = (id, failure, summary)
    case .cancelled(let id, let summary): (self.id, self.summary, isCancelled) = (id, summary, true)
    }
  }
}

/// A downloader with one client and no jitter: each retry waits for its full backoff, which is zero by default.
struct Fetcher {
  let recorder = Recorder()
  let downloader: ImageDownloader
  let client: DownloadClient

  init(
    concurrency: Int = 6,
    perHost: Int = 8,
    order: DownloadOrder? = nil,
    time: TimeSource = .system,
    headers: [HeaderField] = [],
    loaders: [any ImageLoader] = [],
    circuitBreaker: CircuitBreaker = CircuitBreaker(),
    threads: Int = 1
  ) throws {
    downloader = try ImageDownloader(
      ImageDownloader.Configuration(
        limits: DownloadLimits(concurrency: concurrency, perHost: perHost, threads: threads),
        order: order,
        time: time,
        jitter: { $0 },
        headers: headers,
        loaders: loaders,
        circuitBreaker: circuitBreaker
      )
    )
    client = downloader.client(recorder)
  }

  /// Submits URLs as downloads 1, 2, ….
  func submit(_ urls: [String], priority: LoadPriority = .normal, options: DownloadOptions = .forTests()) {
    client.submit(
      urls.enumerated().map { index, url in
        Download(UInt64(index + 1), url, priority: priority, sequence: Int64(index), options: options)
      }
    )
  }

  /// Fetches URLs as downloads 1, 2, …, the first of this downloader; returns their ends in order.
  func fetchAll(_ urls: [String], options: DownloadOptions = .forTests()) async throws -> [End] {
    submit(urls, options: options)
    return try await recorder.waitForEnds(urls.count)
  }

  /// Returns when all earlier messages are handled: a rejected URL ends in the iteration that takes it, and the second of two in a row
  /// in a later iteration than the first.
  func settle() async throws {
    for _ in 1...2 { _ = try await fetch("", id: .max) }
  }

  func advance(_ clock: ManualClock, by duration: Duration) {
    clock.advance(by: duration)
    client.capacityChanged()
  }

  /// Shuts the downloader down by the call that blocks, which an async test can't name.
  func shutDown() { downloader.shutDown() }

  /// Fetches one URL to its end.
  func fetch(
    _ url: String,
    id: UInt64 = 1,
    options: DownloadOptions = .forTests(),
    validators: Validators? = nil,
    wantsProgress: Bool = false,
    wantsDetails: Bool = false
  ) async throws -> End {
    let before = recorder.ends.count { $0.id == id }
    var download = Download(id, url, options: options, validators: validators)
    (download.wantsProgress, download.wantsDetails) = (wantsProgress, wantsDetails)
    client.submit([download])
    return try await recorder.waitForEnd(of: id, count: before + 1)
  }

  /// Fetches URLs one after another, each to its end, as downloads 1, 2, ….
  func fetchInTurn(_ fetches: [(url: String, options: DownloadOptions)]) async throws -> [End] {
    var ends: [End] = []
    for (url, options) in fetches {
      ends.append(try await fetch(url, id: UInt64(ends.count + 1), options: options, wantsDetails: true))
    }
    return ends
  }
}

/// Fetches one URL, `/a`, from an origin of its own, to its end.
func fetch(
  _ behaviour: Behaviour,
  _ options: DownloadOptions = .forTests()
) async throws -> (end: End, requests: [RecordedRequest]) {
  let origin = try Origin(["/a": behaviour])
  return (try await Fetcher().fetch(origin.url("/a"), options: options), origin.requests)
}

extension DownloadOptions.Connection {
  /// Creates a connection from its parts.
  static func with(
    _ version: DownloadOptions.HTTPVersion = .automatic,
    connectTo: [DownloadOptions.ConnectTarget] = [],
    proxy: DownloadOptions.Proxy = .none,
    caFile: String? = nil,
    clientCertificate: String? = nil,
    clientKey: String? = nil,
    addresses: DownloadOptions.AddressRule = .any
  ) -> DownloadOptions.Connection {
    var connection = DownloadOptions.Connection()
    connection.httpVersion = version
    connection.connectTo = connectTo
    connection.proxy = proxy
    connection.tls.caFile = caFile
    connection.tls.clientCertificate = clientCertificate
    connection.tls.clientKey = clientKey
    connection.addresses = addresses
    return connection
  }
}

extension Download {
  /// Creates a download of a normalised URL with its own options.
  init(
    _ id: UInt64,
    _ url: String,
    priority: LoadPriority = .normal,
    sequence: Int64 = 0,
    options: DownloadOptions = .forTests(),
    validators: Validators? = nil,
    wantsProgress: Bool = false,
    progressInterval: Duration = .zero,
    wantsDetails: Bool = false
  ) {
    self.init(
      id: id,
      requestURL: Array(url.utf8),
      priority: priority,
      sequence: sequence,
      options: PreparedOptions(options)
    )
    self.validators = validators
    self.wantsProgress = wantsProgress
    self.progressInterval = progressInterval
    self.wantsDetails = wantsDetails
  }
}

extension DownloadOptions {
  /// No retry, unless given, and no wait before it; of a batch, unless given.
  static func forTests(
    method: Method = .get,
    headers: [(name: String, value: String?)] = [],
    credentials: Credentials? = nil,
    handlesCookies: Bool = false,
    allowsInvalidTLSCertificates: Bool = false,
    connection: Connection = Connection(),
    timeout: Duration = .seconds(60),
    connectTimeout: Duration = .seconds(10),
    stallTimeout: Duration = .seconds(15),
    retries: Int = 0,
    backoff: Backoff = Backoff(initial: .zero, maximum: .zero),
    redirects: Int = 10,
    acceptStatus: Set<Int> = [200],
    maxBytes: Int = 64 << 20,
    streamAbove: Int = 128 << 10,
    prefixJudge: PrefixJudge? = nil,
    patience: Patience = .long,
    retryAfterMaximum: Duration? = nil,
    respectsRobots: Bool = false,
    userAgent: String = "prewarm"
  ) -> DownloadOptions {
    DownloadOptions {
      $0.method = method
      $0.headers = headers.compactMap { header in header.value.map { HeaderField(header.name, $0) } }
      $0.removedHeaders = headers.filter { $0.value == nil }.map(\.name)
      $0.userAgent = userAgent
      $0.credentials = credentials
      $0.handlesCookies = handlesCookies
      $0.allowsInvalidTLSCertificates = allowsInvalidTLSCertificates
      $0.connection = connection
      $0.timeout = timeout
      $0.connectTimeout = connectTimeout
      $0.stallTimeout = stallTimeout
      $0.retries = retries
      $0.backoff = backoff
      $0.patience = patience
      if let retryAfterMaximum { $0.retryAfterMaximum = retryAfterMaximum }
      $0.redirects = redirects
      $0.acceptStatus = acceptStatus
      $0.maxBytes = maxBytes
      $0.streamAbove = streamAbove
      $0.respectsRobots = respectsRobots
      $0.purpose.prefixJudge = prefixJudge
    }
  }
}

extension Backoff {
  static func constant(_ wait: Duration) -> Backoff { Backoff(initial: wait, maximum: wait) }
}

extension Decryptor {
  /// Inverts all bits.
  static let not = Decryptor(name: "not") { $0.map { ~$0 } }
}

/// Bytes that differ between indices and between blocks of 64 KiB.
func pattern(_ count: Int) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count)
  while bytes.count < count { bytes += period.prefix(count - bytes.count) }
  return bytes
}

/// A prime period, so that no two aligned parts with a power of two as length are equal.
private let period = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

/// Compressed by `gzip`.
func gzip(_ bytes: [UInt8]) throws -> [UInt8] { try Command("/usr/bin/gzip", ["-c"], input: .bytes(bytes)).wait().output }

/// A URL in normal form.
func normalized(_ written: String) throws -> [UInt8] { try BaseURL(written).bytes }

/// The calls of a judge.
final class JudgeLog: Sendable {
  struct Question {
    var prefix: [UInt8]
    var head: PrefixHead
  }

  private let asked = Mutex<[Question]>([])

  /// All calls so far, in order.
  var questions: [Question] { asked.withLock { $0 } }
  /// The lengths of the prefixes.
  var lengths: [Int] { questions.map(\.prefix.count) }

  /// A judge that decides by the number of bytes, and records each call here.
  func judge(_ decide: @escaping @Sendable (Int) -> PrefixVerdict) -> PrefixJudge {
    PrefixJudge(name: "logging") { prefix, head in
      self.asked.withLock { $0.append(Question(prefix: Array(prefix), head: head)) }
      return decide(prefix.count)
    }
  }

  /// A judge that needs `minimum` bytes, if there are that many, and then accepts.
  func wanting(_ minimum: Int) -> PrefixJudge { judge { $0 < minimum ? .needsMore(minimum: minimum) : .accepted } }
}

/// A downloader with a clock that only the test advances.
struct ManualRun {
  let clock = ManualClock()
  let fetcher: Fetcher

  init(
    concurrency: Int = 6,
    perHost: Int = 8,
    order: DownloadOrder? = nil,
    circuitBreaker: CircuitBreaker = CircuitBreaker()
  ) throws {
    fetcher = try Fetcher(
      concurrency: concurrency,
      perHost: perHost,
      order: order,
      time: clock.source,
      circuitBreaker: circuitBreaker
    )
  }

  var ends: [End] { fetcher.recorder.ends.filter { $0.id != .max } }

  /// Waits until nothing runs, and nothing can start before time advances; `stalling` transfers may keep running.
  func settle(stalling: Int = 0) async throws {
    var waiting: Int
    repeat {
      try await fetcher.settle()
      try await poll("transfers to end") { fetcher.downloader.statistics.running <= stalling }
      waiting = fetcher.downloader.statistics.waiting
      try await fetcher.settle()
      // Nothing may seem to run between the end of one transfer and the start of the next.
    } while fetcher.downloader.statistics.running > stalling || fetcher.downloader.statistics.waiting != waiting
  }

  /// Advances the clock, and waits for all that follows.
  func advance(by duration: Duration, stalling: Int = 0) async throws {
    fetcher.advance(clock, by: duration)
    try await settle(stalling: stalling)
  }

  /// Advances the clock second by second until `count` downloads have ended; returns the number of seconds.
  func advance(untilEnds count: Int, atMost maximum: Int) async throws -> Int {
    try await settle()
    var seconds = 0
    while ends.count < count, seconds < maximum {
      try await advance(by: .seconds(1))
      seconds += 1
    }
    return seconds
  }
}
