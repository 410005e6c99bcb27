import ImagePrimitives

/// Reads a sequence of requests for a run, and counts how they end; on the run's thread alone.
final class RequestSource: PrefetchDelegate {
  private(set) var counts = PrefetchProgress()

  private let manager: ImageManager
  private let configuration: ImagePrefetcher.Configuration
  private let whenEnded: ((ImageRequest, EntryResult) -> Void)?
  private let report: (PrefetchProgress) -> Void
  /// The requests of the batch just read, and those that are pending, by slot; kept only for who wants to know how each has ended.
  private var read: [ImageRequest] = []
  private var pending: [Int: ImageRequest] = [:]
  private var nextRequest: () -> ImageRequest?
  /// A request that was read, and whose context is another than that of the batch before it.
  private var ahead: (request: ImageRequest, context: LoadContext)?
  private var sequence: Int64 = 0
  private var reported = PrefetchProgress()

  init(
    _ requests: some Sequence<ImageRequest>,
    manager: ImageManager,
    configuration: ImagePrefetcher.Configuration,
    whenEnded: ((ImageRequest, EntryResult) -> Void)?,
    report: @escaping (PrefetchProgress) -> Void
  ) {
    var iterator = requests.makeIterator()
    nextRequest = { iterator.next() }
    self.manager = manager
    self.configuration = configuration
    self.whenEnded = whenEnded
    self.report = report
  }

  var sourceDescriptor: Int32? { nil }

  func read(_ batch: inout PrefetchBatch, maximum: Int) -> PrefetchSourceState {
    read.removeAll(keepingCapacity: true)
    // What is no URL takes a place too, so that many of them do not keep a batch from being stopped.
    for _ in 0..<maximum {
      guard let (request, context) = take() else { return .ended }
      if let current = batch.context, current !== context {
        ahead = (request, context)
        return .open
      }
      batch.context = context
      counts.total += 1
      if batch.append(request, sequence: sequence, manager: manager) {
        if whenEnded != nil { read.append(request) }
      } else {
        end(request, EntryResult(.failed, details: EntryResult.Details(failure: .noURL)))
      }
      sequence += 1
    }
    return .open
  }

  private func take() -> (request: ImageRequest, context: LoadContext)? {
    if let ahead {
      self.ahead = nil
      return ahead
    }
    guard let request = nextRequest()?.prefetching(to: configuration) else { return nil }
    return (request, manager.context(for: request))
  }

  func decided(_ index: Int, _ result: EntryResult) { end(whenEnded == nil ? nil : read[index], result) }

  func began(_ index: Int, slot: Int) {
    if whenEnded != nil { pending[slot] = read[index] }
  }

  func completed(slot: Int, _ completion: LoadCompletion) { end(pending.removeValue(forKey: slot), completion.result) }

  private func end(_ request: ImageRequest?, _ result: EntryResult) {
    counts.count(result.outcome)
    if let whenEnded, let request { whenEnded(request, result) }
  }

  func progressed() {
    guard counts != reported else { return }
    reported = counts
    report(counts)
  }
}

extension PrefetchBatch {
  /// Adds a request; false where its URL is none.
  fileprivate mutating func append(_ request: ImageRequest, sequence: Int64, manager: ImageManager) -> Bool {
    manager.append(request, id: 0, sequence: sequence, to: &requests, bytes: &bytes)
  }
}

extension Failure {
  fileprivate static let noURL = Failure(.invalidURL, message: "the request has no URL of an image")
}
