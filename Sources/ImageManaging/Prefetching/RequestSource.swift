import ImagePrimitives
import ImageURLs

/// Reads a sequence of requests for a run, and counts how they end; on the run's thread alone.
final class RequestSource: PrefetchDelegate {
  private(set) var counts = PrefetchProgress()

  private let manager: ImageManager
  private let configuration: ImagePrefetcher.Configuration
  private let whenEnded: ((ImageRequest, EntryResult) -> Void)?
  private let report: (PrefetchProgress) -> Void
  private(set) var batchContext: LoadContext?
  private var nextRequest: () -> ImageRequest?
  /// A request that was read, and whose context is another than that of the batch before it.
  private var ahead: (request: ImageRequest, context: LoadContext)?
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

  func read(_ batch: inout EntryBatch, maximum: Int) -> PrefetchSourceState {
    batchContext = nil
    // What is no URL takes a place too, so that many of them do not keep a batch from being stopped.
    for _ in 0..<maximum {
      guard let (request, context) = take() else { return .ended }
      if let batchContext, batchContext !== context {
        ahead = (request, context)
        return .open
      }
      batchContext = context
      counts.total += 1
      // Whoever wants to know how each has ended gets its request back.
      let owner = whenEnded == nil ? nil : PrefetchedRequest(request)
      if !manager.append(request, owner: owner, to: &batch) {
        end(request, EntryResult(.failed, details: EntryResult.Details(failure: .noURL)))
      }
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

  func finished(_ entry: Entry, _ completion: LoadCompletion) {
    end((entry.owner as? PrefetchedRequest)?.request, completion.result)
  }

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

/// A request, as its entry carries it.
private final class PrefetchedRequest: Sendable {
  let request: ImageRequest

  init(_ request: ImageRequest) { self.request = request }
}

extension Failure {
  fileprivate static let noURL = Failure(.invalidURL, message: "the request has no URL of an image")
}
