import ImageManaging
import ImagePrimitives

/// Reads a sequence of requests for a run, and counts how they end; on the run's thread alone.
final class RequestSource: PrefetchDelegate {
  private(set) var counts = PrefetchProgress()

  private let manager: ImageManager
  private let configuration: ImagePrefetcher.Configuration
  private let report: (PrefetchProgress) -> Void
  private var nextRequest: () -> ImageRequest?
  /// A request that was read, and whose context is another than that of the batch before it.
  private var ahead: (request: ImageRequest, context: LoadContext)?
  private var sequence: Int64 = 0
  private var reported = PrefetchProgress()

  init(
    _ requests: some Sequence<ImageRequest>,
    manager: ImageManager,
    configuration: ImagePrefetcher.Configuration,
    report: @escaping (PrefetchProgress) -> Void
  ) {
    var iterator = requests.makeIterator()
    nextRequest = { iterator.next() }
    self.manager = manager
    self.configuration = configuration
    self.report = report
  }

  var sourceDescriptor: Int32? { nil }

  func read(_ batch: inout PrefetchBatch, maximum: Int) -> PrefetchSourceState {
    // What is no URL takes a place too, so that many of them do not keep a batch from being stopped.
    for _ in 0..<maximum {
      guard let (request, context) = take() else { return .ended }
      if let current = batch.context, current !== context {
        ahead = (request, context)
        return .open
      }
      batch.context = context
      if !batch.append(request, sequence: sequence, manager: manager) { counts.failed += 1 }
      counts.total += 1
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

  func decided(_ index: Int, _ result: EntryResult) { counts.count(result.outcome) }

  func began(_ index: Int, slot: Int) {}

  func completed(slot: Int, _ completion: LoadCompletion) { counts.count(completion.result.outcome) }

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
