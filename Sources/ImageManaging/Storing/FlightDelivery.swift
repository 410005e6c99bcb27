import ImageCaching
import ImageCoding
import ImageDownloading
import ImagePrimitives

/// The result of a flight, once nothing can change it any more.
struct FinalResult {
  let number: UInt64
  var result: EntryResult
  var product: ProcessedImage.Product?
  /// Whether the memory layer may have it.
  var isRemembered = true
  var leftBlacklist = false
  var joinedBlacklist = false

  init(number: UInt64, result: EntryResult, product: ProcessedImage.Product? = nil, isRemembered: Bool = true) {
    self.number = number
    self.result = result
    self.product = product
    self.isRemembered = isRemembered
  }

  /// What became of an item with its commit.
  init(_ item: CommitBatch.Item) {
    self.init(number: item.number, result: item.result, product: item.product)
    leftBlacklist = item.leftBlacklist
    joinedBlacklist = item.joinedBlacklist
    isRemembered = item.result.outcome != .failed
  }
}

/// Ends flights and tells everyone who shared them, each by the rules of their own context.
struct FlightDelivery {
  private let dispatcher: FlightDispatcher

  init(_ dispatcher: FlightDispatcher) { self.dispatcher = dispatcher }

  /// Those who shared a flight under other rules than its own are looked up again, as if they had come now.
  func deliver(_ results: [FinalResult], isClosing: Bool) {
    var outbox = Outbox()
    var others: [(Sharer, Flight)] = []
    let ended = dispatcher.flights.end(results.map(\.number))
    for (final, ended) in zip(results, ended) {
      guard let ended else { continue }
      remember(final, ended.flight)
      var isFirst = true
      for sharer in ended.sharers {
        let holds = sharer.context === ended.flight.context || isClosing || final.result.holdsForOtherRules
        guard holds else {
          others.append((sharer, ended.flight))
          continue
        }
        outbox.add(final.completion(for: sharer, isFirst: isFirst), for: sharer.receiver)
        isFirst = false
      }
    }
    outbox.send()
    for (sharer, flight) in others { loadAgain(sharer, flight) }
  }

  private func remember(_ final: FinalResult, _ flight: Flight) {
    let context = flight.context
    guard let memory = context.parts.memory, context.writesMemory, final.isRemembered, let product = final.product else {
      return
    }
    let match = product.contentTypeMatch
    if let image = product.image, context.layers.writes.contains(.memory) {
      let remembered = RememberedImage(flight.identity, image, final.result, match)
      memory.insert(remembered, for: context.memoryKey(flight.key))
    }
    if let original = product.original {
      let remembered = RememberedImage(flight.identity, original, final.result, match)
      memory.insert(remembered, for: context.memoryKey(flight.key, processing: ""))
    }
  }

  private func loadAgain(_ sharer: Sharer, _ flight: Flight) {
    flight.withRequest(id: sharer.id, priority: sharer.priority) { request, bytes in
      var completion: LoadCompletion?
      do throws(CacheError) {
        try dispatcher.load([request], in: bytes, context: sharer.context, receiver: sharer.receiver) { _, decided in
          completion = decided
        }
      } catch {
        let failure = Failure(.internal, message: "the cache could not be read: \(error)")
        completion?.result = EntryResult(.failed, details: EntryResult.Details(failure: failure))
      }
      if let completion { sharer.receiver.complete([completion]) }
    }
  }
}

extension FinalResult {
  fileprivate func completion(for sharer: Sharer, isFirst: Bool) -> LoadCompletion {
    LoadCompletion(
      id: sharer.id,
      result: isFirst ? result : result.shared,
      leftBlacklist: isFirst && leftBlacklist,
      joinedBlacklist: isFirst && joinedBlacklist,
      payload: product?.payload(for: sharer.context.parts.delivery)
    )
  }
}

extension EntryResult {
  /// Whether this is the result for every request that is made in the same way, whatever its rules: a failure to get an answer, and that
  /// all were cancelled, since nobody else can cancel what others wait for.
  fileprivate var holdsForOtherRules: Bool {
    if outcome == .cancelled { return true }
    return switch failure?.kind {
    case .dns, .connect, .timeout, .stalled, .reset, .truncated, .hostDown, .tls, .httpStatus, .redirects, .tooLarge,
      .refusedAddress, .robots, .invalidURL, .cacheWrite, .empty:
      outcome == .failed
    case .contentType, .remoteCache, .notAnImage, .undecodable, .size, .format, .dimensions, .animated, .placeholder, .internal,
      nil:
      false
    }
  }
}

extension RememberedImage {
  /// An image as it is kept after a load that ended with `result`, of which memory tells what concerns the image.
  init(_ identity: [UInt8], _ image: DecodedImage, _ result: EntryResult, _ contentTypeMatch: ContentTypeMatch) {
    self.identity = identity
    self.image = image
    self.contentTypeMatch = contentTypeMatch
    var told = EntryResult(.hitMemory)
    told.format = result.format
    told.width = result.width
    told.height = result.height
    told.bytes = result.bytes
    told.checksum = result.checksum
    told.freshUntil = result.freshUntil
    self.result = told
  }
}

/// Completions, gathered for each receiver as long as they come in a row.
private struct Outbox {
  private var receiver: (any LoadReceiver)?
  private var completions: [LoadCompletion] = []

  mutating func add(_ completion: LoadCompletion, for receiver: any LoadReceiver) {
    if let current = self.receiver, current !== receiver { send() }
    self.receiver = receiver
    completions.append(completion)
  }

  mutating func send() {
    receiver?.complete(completions)
    completions.removeAll(keepingCapacity: true)
  }
}
