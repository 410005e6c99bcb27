import ImageDownloading
import Base

/// Reads a sequence of requests for a run and counts the outcomes; on the run's thread only.
final class RequestSource: PrefetchDelegate {
  private(set) var counts = PrefetchProgress()

  private let task: PrefetchTask
  private let whenEnded: ((ImageRequest, EntryResult) -> Void)?
  private(set) var batchContext: LoadContext?
  private var nextRequest: () -> ImageRequest?
  /// A request that was read, with a different context than the batch before it.
  private var ahead: (request: ImageRequest, context: LoadContext)?
  private var reported = PrefetchProgress()

  init(_ requests: some Sequence<ImageRequest>, of task: PrefetchTask, whenEnded: ((ImageRequest, EntryResult) -> Void)?) {
    var iterator = requests.makeIterator()
    nextRequest = { iterator.next() }
    self.task = task
    self.whenEnded = whenEnded
  }

  private var manager: ImageManager { task.manager }
  var sourceDescriptor: Int32? { nil }

  func read(_ batch: inout EntryBatch, maximum: Int) -> PrefetchSourceState {
    batchContext = nil
    // Invalid URLs count too, so that many of them don't delay a stop of the batch.
    for _ in 0..<maximum {
      guard let (request, context) = take() else { return .ended }
      if let batchContext, batchContext !== context {
        ahead = (request, context)
        return .open
      }
      batchContext = context
      counts.total += 1
      if task.isCancelled(request.url) {
        reject(request, EntryResult(.cancelled))
        continue
      }
      // `whenEnded` gets the request back.
      let owner = whenEnded == nil ? nil : PrefetchedRequest(request)
      if !manager.append(request, owner: owner, to: &batch) { reject(request, EntryResult(.failed, failure: .noURL)) }
    }
    return .open
  }

  private func take() -> (request: ImageRequest, context: LoadContext)? {
    if let ahead {
      self.ahead = nil
      return ahead
    }
    while let request = nextRequest()?.prefetching(to: task.configuration) {
      guard let reason = request.options.invalidReason else { return (request, manager.context(for: request)) }
      counts.total += 1
      reject(request, EntryResult(.failed, failure: ImageFailure(invalidOptions: reason)))
    }
    return nil
  }

  func finished(_ entry: Entry, _ completion: LoadCompletion) {
    manager.observation.ended(entry, completion.result)
    end((entry.owner as? PrefetchedRequest)?.request, completion.result)
  }

  /// Ends a request that became no entry.
  private func reject(_ request: ImageRequest, _ result: EntryResult) {
    manager.observation.ended(request, result)
    end(request, result)
  }

  private func end(_ request: ImageRequest?, _ result: EntryResult) {
    counts.count(result.outcome)
    if let whenEnded, let request { whenEnded(request, result) }
  }

  func progressed() {
    guard counts != reported else { return }
    reported = counts
    task.report(counts)
  }
}

/// A request as the owner of its entry.
private final class PrefetchedRequest: Sendable {
  let request: ImageRequest

  init(_ request: ImageRequest) { self.request = request }
}

extension ImageFailure {
  fileprivate static let noURL = ImageFailure(.invalidURL, message: "the request's URL isn't the URL of an image")
}
