import ImageCaching
import ImageCoding
import ImageDownloading
import ImagePrimitives
import Threads

/// The store thread: it judges what arrives, commits it in groups, and only then says that it is done.
///
/// Everything here is touched by that one thread alone. It commits when a group is full, or when it has nothing more to take and little
/// more is to be expected, so that a commit's cost is shared by many.
final class StoreLoop {
  /// How long what could be committed waits at most for more to go with it.
  static let gatheringTime = Duration.milliseconds(20)
  /// How many messages wake the thread while it waits for more.
  static let gatheredMessages = 64
  /// Trimming within a run starts when bodies exceed the limit by this share of it.
  static let trimSlack = 0.1

  typealias Held = BackPressure.Held

  let inbox: StoreInbox
  let dispatcher: FlightDispatcher
  let coders: ImageCoderRegistry
  let budget: DecodingBudget
  let coding: CodingThreads
  let delivery: FlightDelivery

  var streams: [UInt64: BodyStream] = [:]
  var partials: [UInt64: PartialImages] = [:]
  var batch = CommitBatch()
  var varyTexts = VaryTexts()
  var final: [FinalResult] = []
  /// What servers said of images whose cached bodies are read before that counts.
  var confirmed: [UInt64: DownloadedImage] = [:]
  /// Bodies that the coding threads have, or are to have.
  var bodiesBeingProcessed = 0
  var isClosing = false
  var touched = Touched()

  init(dispatcher: FlightDispatcher, coders: ImageCoderRegistry, budget: DecodingBudget, coding: CodingThreads) {
    self.dispatcher = dispatcher
    inbox = dispatcher.inbox
    self.coders = coders
    self.budget = budget
    self.coding = coding
    delivery = FlightDelivery(dispatcher)
  }

  var flights: FlightTable { dispatcher.flights }

  /// Runs until told to close, and then until all that was begun is final.
  func run() {
    var messages: [StoreMessage] = []
    while true {
      guard inbox.mailbox.takeAll(into: &messages) else {
        if let deadline = gatheringDeadline {
          _ = inbox.mailbox.wait(for: Self.gatheredMessages, until: deadline)
          continue
        }
        writeTouches(all: isClosing)
        commit()
        deliver()
        if isClosing && bodiesBeingProcessed == 0 { return }
        inbox.meter.store(.idle)
        _ = inbox.mailbox.wait(until: touched.deadline)
        inbox.meter.store(.working)
        continue
      }
      writeTouches()
      for index in messages.indices {
        // Taken out of the array, so that a body is freed as soon as nothing else needs it.
        var message = StoreMessage.taken
        swap(&message, &messages[index])
        take(message)
      }
    }
  }

  func take(_ message: consuming StoreMessage) {
    switch message {
    case .event(let event): take(event)
    case .prove(let number):
      if let flight = flights.flight(number), let copy = flight.copy { prove(number, flight, copy) }
    case .processed(let number, let image, let verdict):
      bodiesBeingProcessed -= 1
      settle(number, image, verdict)
    case .proved(let number, let copy, let proof):
      bodiesBeingProcessed -= 1
      settle(number, copy, proof)
    case .partial(let number, let image):
      // What comes after the end of its transfer has been overtaken.
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
        inbox.whileWriting { streams[number, default: BodyStream(flight.context)].append(bytes) }
        if flight.context.options.showsPartialImages { show(bytes, of: number, flight) }
      }
      release(Held(bytes: bytes.count))
    case .restarted(let number):
      streams[number] = nil
      // What comes now would show less than what was shown.
      partials[number]?.end()
    case .finished(let number, let answer):
      partials.removeValue(forKey: number)?.end()
      let body = answer.wasStreamed ? inbox.whileWriting { streams.removeValue(forKey: number)?.finish() } : nil
      let whole = answer.isPrefix ? FetchedImage.Body.prefix(answer.body) : .bytes(answer.body)
      let image = FetchedImage(answer: answer, body: body ?? whole, vary: vary(answer, of: number))
      inbox.pressure.add(Held(blobs: image.held.blobs))
      process(number, image)
    case .notModified(let number, let answer):
      settle(number, notModified: answer)
    case .failed(let number, let failure, let summary):
      drop(number)
      guard let flight = flights.flight(number) else { return }
      settle(number, flight, failure, EntryResult(.failed, summary: summary), Held())
    case .cancelled(let number, let summary):
      drop(number)
      finish(FinalResult(number: number, result: EntryResult(.cancelled, summary: summary)))
    case .progress(let number, let receivedBytes, let expectedBytes):
      for waiter in flights.waiters(number) where waiter.context.options.reportsProgress {
        waiter.receiver.progress(waiter.entry, receivedBytes: receivedBytes, expectedBytes: expectedBytes)
      }
    case .started, .response: break
    }
  }

  /// Lets go of what came of a body.
  private func drop(_ number: UInt64) {
    streams[number] = nil
    partials.removeValue(forKey: number)?.end()
  }

  /// Has the next bytes of a body made into an image.
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

  func vary(_ answer: DownloadedImage, of number: UInt64) -> [UInt8] {
    guard let vary = answer.vary, let flight = flights.flight(number) else { return [] }
    let sent = SentHeaders(options: flight.prepared, defaults: dispatcher.defaultHeaders(flight.context))
    return varyTexts.text(vary, of: flight, sent)
  }

  func process(_ number: UInt64, _ image: FetchedImage) {
    guard let flight = flights.flight(number) else { return release(image.held) }
    let processor = BodyProcessor(flight, coders: coders, budget: budget)
    // Where the coding threads have as many open files as they may, this thread takes its part instead of opening more.
    guard processor.isHeavy, bodiesBeingProcessed < inbox.pressure.limit.blobs || image.held.blobs == 0 else {
      return settle(number, image, image.processed(by: processor, for: flight))
    }
    bodiesBeingProcessed += 1
    coding.run { [inbox] in
      var verdict = flight.stop == .now ? nil : image.processed(by: processor, for: flight)
      // What was given up half-way has not failed.
      if case .failure = verdict, flight.stop == .now { verdict = nil }
      inbox.mailbox.post(.processed(number: number, image, verdict))
    }
  }

  func settle(_ number: UInt64, _ image: FetchedImage, _ verdict: Result<ProcessedImage, Failure>?) {
    guard let flight = flights.flight(number) else { return release(image.held) }
    switch verdict {
    case nil:
      release(image.held)
      finish(FinalResult(number: number, result: EntryResult(.cancelled, summary: image.answer.summary)))
    case .failure(let failure): refuse(number, flight, image, nil, failure)
    case .success(let processed):
      if let failure = flight.context.verification.failure(remoteCache: image.answer.remoteCache)
        ?? processed.placeholderFailure(image, for: flight)
      {
        return refuse(number, flight, image, processed.verified, failure)
      }
      show(image, of: flight, processed.verified, nil)
      var held = image.held
      held.bytes += hold(processed)
      if keepsOnDisk(image, processed, for: flight.context) {
        let result = EntryResult(.downloaded, image: image, verified: processed.verified)
        let change = CommitBatch.Change.store(image, processed)
        add(
          CommitBatch.Item(number: number, flight: flight, change: change, result: result, product: processed.product, held: held)
        )
      } else {
        release(held)
        settleUnkept(number, flight, image, processed)
      }
    }
  }

  /// Ends a flight whose image came and is no good.
  private func refuse(_ number: UInt64, _ flight: Flight, _ image: FetchedImage, _ verified: VerifiedImage?, _ failure: Failure) {
    show(image, of: flight, verified, failure)
    settle(number, flight, failure, EntryResult(.failed, image: image, verified: verified), image.held)
  }

  private func show(_ image: FetchedImage, of flight: Flight, _ verified: VerifiedImage?, _ failure: Failure?) {
    guard let observer = flight.context.options.observer else { return }
    if let arrived = ArrivedImage(image, of: flight, verified: verified, failure: failure) { observer.saw(arrived) }
  }

  /// Ends a flight whose image is good and not kept on disk; a URL that was known bad is so no more.
  func settleUnkept(_ number: UInt64, _ flight: Flight, _ image: FetchedImage, _ processed: ProcessedImage) {
    let result = EntryResult(.checked, image: image, verified: processed.verified)
    let product = isStorable(image.answer, flight.context) ? processed.product : processed.product?.unremembered
    if flight.known != nil, flight.context.mode != .bypass, flight.context.cache?.configuration.access == .readWrite {
      add(CommitBatch.Item(number: number, flight: flight, change: .unblacklist, result: result, product: product, held: Held()))
    } else {
      finish(FinalResult(number: number, flight: flight, result: result, product: product))
    }
  }

  func keepsOnDisk(_ image: FetchedImage, _ processed: ProcessedImage, for context: LoadContext) -> Bool {
    guard context.writeCache != nil, isStorable(image.answer, context) else { return false }
    if processed.product?.transformed != nil { return true }
    if case .nothing = processed.stored { return false }
    return context.keepsOriginalOnDisk
  }

  /// Whether the answer may be kept by the server's word, where that counts.
  func isStorable(_ answer: DownloadedImage, _ context: LoadContext) -> Bool {
    answer.freshness.isStorable || !context.followsHTTPFreshness
  }

  /// Counts what waits for its commit; returns its bytes.
  func hold(_ processed: ProcessedImage) -> Int {
    let bytes = processed.product?.heldBytes ?? 0
    if bytes > 0 { inbox.pressure.add(Held(bytes: bytes)) }
    return bytes
  }

  /// Ends a flight with `failure`, and remembers it where the rules say so.
  func settle(_ number: UInt64, _ flight: Flight, _ failure: Failure, _ result: EntryResult, _ held: Held) {
    let remembers = flight.context.writeCache != nil && flight.blocks(failure)
    var result = result
    result.details = EntryResult.Details(
      failure: failure,
      isBlacklisted: remembers,
      finalURL: result.details?.finalURL,
      contentType: result.details?.contentType,
      prefixChecksum: result.details?.prefixChecksum
    )
    if remembers {
      add(CommitBatch.Item(number: number, flight: flight, change: .blacklist(failure), result: result, held: held))
    } else {
      release(held)
      finish(FinalResult(number: number, result: result))
    }
  }

  // MARK: Commit and delivery

  /// Until when more may come before the commit; nil where it is not to be waited for: there is nothing to commit, somebody waits for
  /// the image itself, nothing else is under way, or nothing may start before the commit.
  private var gatheringDeadline: MonotonicInstant? {
    guard let began = batch.began, !isClosing, !batch.isAwaited, !inbox.pressure.isFull else { return nil }
    guard flights.count > batch.items.count + final.count else { return nil }
    let deadline = began.advanced(by: Self.gatheringTime)
    return deadline > TimeSource.system.monotonic() ? deadline : nil
  }

  func add(_ item: CommitBatch.Item) {
    if !batch.accepts(item.flight.context) { commit() }
    batch.add(item)
    // What has arrived meanwhile may bring more open files than this process may have.
    if batch.isFull || batch.blobs >= inbox.pressure.limit.blobs { commit() }
  }

  func commit() {
    guard !batch.isEmpty, let context = batch.context else { return }
    inbox.whileWriting { batch.commit() }
    var held = Held()
    for item in batch.items { held += item.held }
    // What waited for the commit comes before what was refused meanwhile: what stands for many URLs is told of after the first of them.
    final = batch.items.map { FinalResult($0) } + final
    batch = CommitBatch()
    release(held)
    inbox.whileWriting { trimIfFull(context) }
    deliver()
  }

  func trimIfFull(_ context: LoadContext) {
    guard let cache = context.writeCache else { return }
    do throws(CacheError) {
      guard try cache.exceedsMaxSize(bySlack: Self.trimSlack) else { return }
      context.recordTrim(try cache.trim(protecting: context.startedAt))
    } catch {
      context.recordWarning("the cache could not be trimmed: \(error)")
    }
  }

  func release(_ held: Held) {
    if inbox.pressure.subtract(held), !isClosing { dispatcher.capacityChanged() }
  }

  func finish(_ result: FinalResult) { final.append(result) }

  func deliver() {
    guard !final.isEmpty else { return }
    let results = final
    final.removeAll(keepingCapacity: true)
    delivery.deliver(results, isClosing: isClosing)
  }
}
