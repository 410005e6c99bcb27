import ImageCaching
import ImageCoding
import ImageDownloading
import Base

/// Ends flights and notifies their waiters, each by the rules of its own context.
struct FlightDelivery {
  private let dispatcher: FlightDispatcher

  init(_ dispatcher: FlightDispatcher) { self.dispatcher = dispatcher }

  /// Delivers results; waiters with other rules than their flight's are looked up again, as if they had come now.
  func deliver(_ results: [Committed], isClosing: Bool) {
    var outbox = Outbox()
    var others: [Waiter] = []
    // Before the flights end, so that later requests find the images in memory.
    for final in results { remember(final, final.flight) }
    for (final, waiters) in zip(results, dispatcher.flights.end(results.map(\.number))) {
      let flight = final.flight
      var isFirst = true
      for waiter in waiters {
        let isOfSameRules = waiter.context === flight.context || final.result.holdsForOtherRules
        let isFinal = isOfSameRules && !final.isVoid && !flight.isEarly(final.result.failure, for: waiter)
        guard isClosing || isFinal && final.isEnough(for: waiter) else {
          others.append(waiter)
          continue
        }
        outbox.add(final.completion(for: waiter, isFirst: isFirst), for: waiter)
        isFirst = false
      }
    }
    outbox.send()
    for waiter in others { loadAgain(waiter) }
  }

  private func remember(_ final: Committed, _ flight: Flight) {
    let context = flight.context
    guard let memory = context.options.memory, !final.isVoid else { return }
    if final.replacesCached, flight.mayReplace {
      memory.removeAll(of: final.name.key, namespace: context.memoryKey(final.name.key).namespace)
    }
    guard context.writesMemory, final.result.outcome != .failed, let product = final.product, final.mayBeKept else { return }
    var known = product.known
    known.head = final.head ?? known.head
    if let image = product.image, context.layers.writes.contains(.memory) {
      known.shown = known.shown.map { known.head.showing($0) }
      let remembered = RememberedImage(identity: final.name.identity, image: image, known: known)
      memory.insert(remembered, for: context.memoryKey(final.name.key))
    }
    if let original = product.original {
      (known.shown, known.isJudged) = (nil, false)
      let remembered = RememberedImage(identity: final.name.identity, image: original, known: known)
      memory.insert(remembered, for: context.originalMemoryKey(final.name.key))
    }
  }

  private func loadAgain(_ waiter: Waiter) {
    var decided: LoadCompletion?
    do throws(CacheError) {
      try dispatcher.load(EntryBatch(waiter.entry), context: waiter.context, receiver: waiter.receiver) { decided = $1 }
    } catch {
      let failure = ImageFailure(.internal, message: "cannot read the cache: \(waiter.context.sentence(error))")
      decided?.result = EntryResult(.failed, failure: failure)
    }
    if let decided { waiter.receiver.complete([(waiter.entry, decided)]) }
  }
}

extension Committed {
  /// Whether it has all that the list of the request needs; a flight computes a digest only if its first request needs one.
  fileprivate func isEnough(for waiter: Waiter) -> Bool {
    !waiter.entry.needsSHA256 || flight.entry.needsSHA256 || result.failure != nil
  }

  /// Whether a new body was received, so that older images in memory are outdated.
  fileprivate var replacesCached: Bool { result.outcome == .downloaded || result.outcome == .checked }

  fileprivate func completion(for waiter: Waiter, isFirst: Bool) -> LoadCompletion {
    let payload = product?.payload(for: waiter.context.options.delivery, head)
    var completion = LoadCompletion(isFirst ? result : result.shared, payload: payload)
    if isFirst { (completion.leftBlacklist, completion.joinedBlacklist) = (leftBlacklist, joinedBlacklist) }
    return completion
  }
}

extension EntryResult {
  /// Whether this result applies to every equal request, whatever its rules: a failure to get a response, and cancellation, since only all
  /// waiters together can cancel a flight.
  fileprivate var holdsForOtherRules: Bool {
    if outcome == .cancelled { return true }
    return switch failure?.kind {
    case .dns, .connect, .timeout, .stalled, .reset, .truncated, .hostDown, .tls, .httpStatus, .redirects, .tooLarge,
      .refusedAddress, .robots, .invalidURL, .empty:
      outcome == .failed
    case .contentType, .remoteCache, .cacheWrite, .notAnImage, .undecodable, .size, .format, .dimensions, .animated, .placeholder,
      .internal,
      .expectation, nil:
      false
    }
  }
}

/// Completions, grouped while they are for the same receiver.
private struct Outbox {
  private var receiver: (any LoadReceiver)?
  private var completions: [(Entry, LoadCompletion)] = []

  mutating func add(_ completion: LoadCompletion, for waiter: Waiter) {
    if let receiver, receiver !== waiter.receiver { send() }
    receiver = waiter.receiver
    completions.append((waiter.entry, completion))
  }

  mutating func send() {
    receiver?.complete(completions)
    completions.removeAll(keepingCapacity: true)
  }
}
