import ImageCaching
import ImageCoding
import ImageDownloading
import Base

/// The store thread: it judges received images, lets the committer store them in groups, and reports them only after that. Only that
/// thread uses this state. It ends a group when that is full, or when it has nothing more to take and little more is expected, so that
/// many share a commit's cost.
final class StoreLoop {
  /// The maximum time that a change waits for others before the commit.
  static let gatheringTime = Duration.milliseconds(20)
  /// How many messages wake the thread while it waits for more.
  static let gatheredMessages = 64
  /// Trimming within a run starts when bodies exceed the limit by this fraction of it.
  static let trimSlack = 0.1

  typealias Held = BackPressure.Held

  let inbox: StoreInbox
  let dispatcher: FlightDispatcher
  let coders: ImageCoderRegistry
  let budget: DecodingBudget
  let coding: CodingThreads
  let delivery: FlightDelivery
  let upkeep: CacheUpkeep

  var streams: [UInt64: BodyStream] = [:]
  var partials: [UInt64: PartialImages] = [:]
  var batch = CommitBatch()
  private let committer: Committer
  /// For each batch that the committer has, in order: its results, and those that became final without a commit meanwhile.
  private var committing: [(count: Int, others: [Committed])] = []
  /// The caches of the last commits, until this thread has nothing to do.
  private var written: [ImageCache] = []
  var varyTexts = VaryTexts()
  /// Results to deliver now, and those to deliver with the batch.
  private var ready: [Committed] = []
  private var others: [Committed] = []
  /// The failures of revalidations whose cached images are read to be served all the same.
  var stale: [UInt64: (failure: ImageFailure, summary: TransferSummary)] = [:]
  /// The 304 responses for images whose cached bodies must be read first.
  var confirmed: [UInt64: DownloadResponse] = [:]
  /// Bodies in the coding threads or waiting for them.
  var bodiesBeingProcessed = 0
  var isClosing = false
  var touched = Touched()

  init(
    dispatcher: FlightDispatcher,
    coders: ImageCoderRegistry,
    budget: DecodingBudget,
    coding: CodingThreads,
    upkeep: CacheUpkeep
  ) {
    self.dispatcher = dispatcher
    self.upkeep = upkeep
    inbox = dispatcher.inbox
    committer = Committer(inbox)
    self.coders = coders
    self.budget = budget
    self.coding = coding
    delivery = FlightDelivery(dispatcher)
  }

  var flights: FlightTable { dispatcher.flights }

  /// Runs until closed, and then until all started work is final.
  func run() {
    var messages: [StoreMessage] = []
    while true {
      guard inbox.mailbox.takeAll(into: &messages) else {
        deliver()
        if let deadline = gatheringDeadline {
          _ = inbox.mailbox.wait(for: Self.gatheredMessages, until: deadline)
          continue
        }
        writeTouches(all: isClosing)
        // What arrives during a commit shares the next one.
        if committing.isEmpty { commit() }
        if committing.isEmpty {
          reusePages()
          if isClosing && bodiesBeingProcessed == 0 { return close() }
        }
        inbox.meter.store(committing.isEmpty ? .idle : .writing)
        _ = inbox.mailbox.wait(until: touched.deadline)
        inbox.meter.store(.working)
        continue
      }
      writeTouches()
      for index in messages.indices {
        // Removed from the array, so that a body is freed as soon as nothing else needs it.
        var message = StoreMessage.taken
        swap(&message, &messages[index])
        take(message)
      }
    }
  }

  private func close() {
    committer.close()
    upkeep.stop()
  }

  func take(_ message: consuming StoreMessage) {
    switch message {
    case .event(let event): take(event)
    case .prove(let number):
      if let flight = flights.flight(number), let copy = flight.copy { prove(number, flight, copy) }
    case .judged(let number, let image):
      bodiesBeingProcessed -= 1
      settle(number, image)
    case .proved(let number, let copy, let proof):
      bodiesBeingProcessed -= 1
      settle(number, copy, proof)
    case .committed(let batch): settle(batch)
    case .partial(let number, let image):
      // Partial images after the end of the transfer are outdated.
      guard partials[number] != nil else { return }
      for waiter in flights.waiters(number) where waiter.context.options.showsPartialImages {
        waiter.receiver.partialImage(waiter.entry, image)
      }
    case .touched(let context): touched.add(context)
    case .writeTouches(let context): writeTouches(context)
    case .close:
      isClosing = true
      dispatcher.closeClients()
    case .taken: break
    }
  }

  // MARK: Transfers

  func take(_ event: DownloadEvent) {
    switch event {
    case .chunk(let number, _, let bytes):
      if let flight = flights.flight(number) {
        inbox.whileWriting { streams[number, default: BodyStream(flight, coders: coders)].append(bytes) }
        if flight.context.options.showsPartialImages { show(bytes, of: number, flight) }
      }
      release(Held(bytes: bytes.count))
    case .restarted(let number):
      streams[number] = nil
      // New partial images would show less than the last one.
      partials[number]?.end()
    case .finished(let number, var response):
      word(&response, of: number)
      partials.removeValue(forKey: number)?.end()
      let stream = response.wasStreamed ? streams.removeValue(forKey: number) : nil
      response.pieces += stream?.pieces ?? []
      let body = stream.flatMap { stream in inbox.whileWriting { stream.finish() } }
      if case .unwritten(let error) = body, error.isLackOfRoom, let flight = flights.flight(number) {
        // For the next one: this body is lost.
        committer.add(.makeRoom(response.bodyBytes, flight.context))
      }
      let whole = response.isPrefix ? Judged.Body.prefix(response.body) : .bytes(response.body)
      judge(number, response, body ?? whole, sha256: stream?.digest?.finish())
    case .notModified(let number, var response):
      word(&response, of: number)
      settle(number, notModified: response)
    case .failed(let number, let failure, let summary):
      drop(number)
      guard stale[number] == nil, let flight = flights.flight(number) else { return }
      if serveStale(number, flight, failure, summary) { return }
      settle(number, flight, failure, EntryResult(.failed, summary: summary), Held())
    case .cancelled(let number, let summary):
      drop(number)
      guard stale[number] == nil, let flight = flights.flight(number) else { return }
      finish(Committed(number, flight, EntryResult(.cancelled, summary: summary)))
    case .progress(let number, let receivedBytes, let expectedBytes):
      for waiter in flights.waiters(number) where waiter.context.options.reportsProgress {
        waiter.receiver.progress(waiter.entry, receivedBytes: receivedBytes, expectedBytes: expectedBytes)
      }
    case .retrying(let number, let failure, let delay):
      guard let flight = flights.flight(number) else { return }
      // Whoever gets an expired image doesn't wait for retries.
      var firstAttempt = TransferSummary()
      firstAttempt.attempts = 1
      if serveStale(number, flight, failure, firstAttempt) {
        return dispatcher.cancelDownloads([number], includingRunning: true)
      }
      flight.context.options.observation?.retried(flight, failure, after: delay)
    case .started, .response: break
    }
  }

  /// Discards the received part of a body.
  private func drop(_ number: UInt64) {
    streams[number] = nil
    partials.removeValue(forKey: number)?.end()
  }

  /// Decodes a partial image with the next bytes of a body.
  private func show(_ bytes: [UInt8], of number: UInt64, _ flight: Flight) {
    let partial = partials[number] ?? PartialImages(flight.context, coders: coders)
    partials[number] = partial
    guard partial.add(bytes) else { return }
    coding.run { [inbox] in
      repeat {
        if let image = partial.next() { inbox.mailbox.post(.partial(number: number, image)) }
      } while !partial.isIdle
    }
  }

  /// Words the failure of a second request for the program's users.
  private func word(_ response: inout DownloadResponse, of number: UInt64) {
    guard let failure = response.remoteCache?.failure, let flight = flights.flight(number) else { return }
    response.remoteCache?.failure = flight.context.worded(failure)
  }

  private func vary(_ response: DownloadResponse, of flight: Flight) -> [UInt8] {
    guard let vary = response.vary else { return [] }
    let sent = SentHeaders(options: flight.prepared, defaults: flight.context.defaultHeaders)
    return varyTexts.text(vary, of: flight, sent)
  }

  /// `sha256` is that of a body that arrived in parts, if it is needed.
  private func judge(_ number: UInt64, _ response: DownloadResponse, _ body: Judged.Body, sha256: [UInt8]?) {
    let held = body.held(response)
    // The inbox has counted a file for each body that arrived in parts.
    inbox.pressure.add(Held(blobs: held.blobs - (response.wasStreamed ? 1 : 0)))
    guard let flight = flights.flight(number) else { return release(held) }
    let vary = vary(response, of: flight)
    let processor = BodyProcessor(flight, coders: coders, budget: budget)
    // If the coding threads have reached the limit of open files, this thread processes the body itself.
    guard processor.isHeavy, bodiesBeingProcessed < inbox.pressure.limit.blobs || held.blobs == 0 else {
      return settle(number, Judged(response, body, sha256: sha256, vary: vary, of: flight, by: processor, abandons: false))
    }
    bodiesBeingProcessed += 1
    coding.run { [inbox] in
      let image = Judged(response, body, sha256: sha256, vary: vary, of: flight, by: processor, abandons: true)
      inbox.mailbox.post(.judged(number: number, image))
    }
  }

  private func settle(_ number: UInt64, _ image: consuming Judged) {
    guard let flight = flights.flight(number) else { return release(image.held) }
    if image.isAbandoned {
      release(image.held)
      return finish(Committed(number, flight, EntryResult(.cancelled, summary: image.response.summary)))
    }
    image.compare(for: flight)
    if let observer = flight.context.options.observer, let arrived = ArrivedImage(image, of: flight) { observer.saw(arrived) }
    if let failure = image.failure { return settle(number, flight, failure, EntryResult(.failed, image), image.held) }
    var held = image.held
    held.bytes += hold(image.product)
    if keepsOnDisk(image, of: flight) {
      var result = Committed(number, flight, EntryResult(.downloaded, image), image.product)
      result.name = flight.name(of: image.response)
      add(.store(image), result, held)
      return
    }
    release(held)
    var result = Committed(number, flight, EntryResult(.checked, image), image.product)
    (result.name, result.mayBeKept) = (flight.name(of: image.response), flight.mayKeep(image.response))
    if flight.known != nil, flight.context.mode != .bypass, flight.context.cache?.configuration.access == .readWrite {
      add(.unblacklist, result, Held())
    } else {
      finish(result)
    }
  }

  private func keepsOnDisk(_ image: Judged, of flight: Flight) -> Bool {
    guard flight.context.writeCache != nil, flight.mayKeep(image.response) else { return false }
    if image.product?.transformed != nil { return true }
    if case .nothing = image.stored { return false }
    return flight.context.keepsOriginalOnDisk
  }

  /// Counts the bytes of a product that waits for its commit, and returns them.
  func hold(_ product: ImageProduct?) -> Int {
    let bytes = product?.heldBytes ?? 0
    if bytes > 0 { inbox.pressure.add(Held(bytes: bytes)) }
    return bytes
  }

  /// Ends a flight with `failure`, and blacklists it if the rules say so.
  func settle(_ number: UInt64, _ flight: Flight, _ failure: ImageFailure, _ result: EntryResult, _ held: Held) {
    let failure = flight.context.worded(failure)
    let remembers = flight.context.writeCache != nil && flight.blocks(failure)
    var result = result
    var details = result.details
    (details.failure, details.isBlacklisted) = (failure, remembers)
    // They are about a good image.
    (details.warnings, details.sha256, details.transformed) = ([], nil, nil)
    result.details = details
    if remembers {
      add(.blacklist(failure), Committed(number, flight, result), held)
    } else {
      release(held)
      finish(Committed(number, flight, result))
    }
  }

  // MARK: Commit and delivery

  /// Until when to wait for more changes before the commit. Nil if there is nothing to commit, a caller waits for the image itself, nothing
  /// else is in flight, or nothing may start before the commit.
  private var gatheringDeadline: MonotonicInstant? {
    guard let began = batch.began, !isClosing, !batch.isAwaited, !inbox.pressure.isFull else { return nil }
    let known = committing.reduce(batch.results.count + others.count) { $0 + $1.count + $1.others.count }
    guard flights.count > known else { return nil }
    let deadline = began.advanced(by: Self.gatheringTime)
    return deadline > TimeSource.system.monotonic() ? deadline : nil
  }

  /// Adds a change; the result becomes final with its commit.
  func add(_ change: CommitBatch.Change, _ result: Committed, _ held: Held) {
    if !batch.accepts(result.flight.context) { commit() }
    batch.add(change, result, held)
    // Received images may have more open files than the limit.
    if batch.isFull || batch.held.blobs >= inbox.pressure.limit.blobs { commit() }
  }

  private func commit() {
    guard !batch.isEmpty, let cache = batch.context?.cache else { return }
    if !written.contains(where: { $0 === cache }) { written.append(cache) }
    committing.append((batch.results.count, others))
    others = []
    committer.add(.commit(batch))
    batch = CommitBatch()
  }

  /// Ends the flights of a batch after its commit.
  private func settle(_ batch: CommitBatch) {
    guard let context = batch.context else { return }
    if let cache = context.cache, cache.takeRecreation() {
      context.recordWarning("the cache at \(cache.path), or a part of it, was deleted while in use; it was recreated")
    }
    release(batch.held)
    trimIfFull(context)
    // Committed results precede those rejected meanwhile: a placeholder is reported after the first of its URLs.
    ready += batch.results + committing.removeFirst().others
    deliver()
  }

  private func reusePages() {
    for cache in written { cache.reusePages() }
    written = []
  }

  private func trimIfFull(_ context: LoadContext) {
    guard let cache = context.writeCache else { return }
    do throws(CacheError) {
      if try cache.exceedsMaxSize(bySlack: Self.trimSlack) { upkeep.add(.trim, context) }
    } catch {
      context.recordWarning("cannot trim the cache: \(context.sentence(error))")
    }
  }

  func release(_ held: Held) {
    if inbox.pressure.subtract(held), !isClosing { dispatcher.capacityChanged() }
  }

  /// Ends a flight without a commit, after those before it that need one; with `atOnce` before them.
  func finish(_ result: Committed, atOnce: Bool = false) {
    if atOnce || batch.isEmpty && committing.isEmpty {
      ready.append(result)
    } else if batch.isEmpty {
      committing[committing.count - 1].others.append(result)
    } else {
      others.append(result)
    }
  }

  private func deliver() {
    guard !ready.isEmpty else { return }
    let results = ready
    ready.removeAll(keepingCapacity: true)
    delivery.deliver(results, isClosing: isClosing)
  }
}

/// Times of access: they are written in batches.
extension StoreLoop {
  /// The maximum delay until a hit's time of access is written, unless the store thread is busy.
  static let touchDelay = Duration.seconds(1)

  /// Caches with unwritten times of access.
  struct Touched {
    private(set) var contexts: [LoadContext] = []
    /// When to write them; nil if there are none.
    private(set) var deadline: MonotonicInstant?

    mutating func add(_ context: LoadContext, delay: Duration = StoreLoop.touchDelay) {
      let latest = TimeSource.system.monotonic().advanced(by: delay)
      deadline = deadline.map { min($0, latest) } ?? latest
      if !contexts.contains(where: { $0.cache === context.cache }) { contexts.append(context) }
    }

    mutating func remove(_ context: LoadContext) {
      contexts.removeAll { $0.cache === context.cache }
      if contexts.isEmpty { deadline = nil }
    }
  }

  /// Records the use of a cached image whose time of access is outdated. Reading and decoding it took so long that the write isn't delayed
  /// for others.
  func touch(_ flight: Flight, _ copy: CachedCopy) {
    guard flight.context.mode.writesDisk, case .entry(let cache, let key, _, let head, true) = copy.source else { return }
    guard cache.configuration.expireBy == .access else { return }
    guard head.accessedAt.advanced(by: ImageCache.touchInterval) <= flight.context.now else { return }
    touched.add(flight.context, delay: .zero)
    if cache.note([EntryTouch(key, head)]) >= ImageCache.touchLimit { writeTouches(flight.context) }
  }

  /// Writes the times of access that are due, or with `all` all of them.
  func writeTouches(all: Bool = false) {
    guard let deadline = touched.deadline, all || deadline <= TimeSource.system.monotonic() else { return }
    for context in touched.contexts { writeTouches(context) }
  }

  func writeTouches(_ context: LoadContext) {
    touched.remove(context)
    upkeep.add(.touches, context)
  }
}

extension LoadContext {
  /// Writes the cache's recorded times of access; best effort.
  func writeTouches() {
    do throws(CacheError) {
      try cache?.writeTouches()
    } catch {
      // Those of a deleted cache don't matter.
      if case .deleted = error { return }
      recordWarning("couldn't save times of access: \(sentence(error))")
    }
  }
}

extension FlightDispatcher {
  /// The store thread writes them. If it doesn't keep up, the caller does too: nothing is lost, the number of waiting ones is limited, and
  /// no thread waits for a thread that might wait for it.
  func note(_ touches: [EntryTouch], _ context: LoadContext) {
    guard let waiting = context.cache?.note(touches), waiting > 0 else { return }
    let before = waiting - touches.count
    if before == 0 {
      inbox.mailbox.post(.touched(context))
    } else if before < ImageCache.touchLimit && waiting >= ImageCache.touchLimit {
      inbox.mailbox.post(.writeTouches(context))
    } else if waiting >= 2 * ImageCache.touchLimit {
      context.writeTouches()
    }
  }
}
