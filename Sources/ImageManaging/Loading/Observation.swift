import ImageCaching
import Base
import Synchronization

/// Counts a manager's events and passes them on to its observers.
final class Observation: Sendable {
  private let observers: [ImageManager.Observer]
  private let counts = Mutex(ImageManager.Statistics())

  init(_ observers: [ImageManager.Observer]) { self.observers = observers }

  var statistics: ImageManager.Statistics { counts.withLock { $0 } }

  func requested(_ flight: Flight) { send(.requested(url: flight.shownText)) }

  func retried(_ flight: Flight, _ failure: ImageFailure, after delay: Duration) {
    counts.withLock { $0.retries += 1 }
    send(.retried(url: flight.shownText, failure, after: delay))
  }

  func ended(_ entry: Entry, _ result: EntryResult) { ended(result, url: String(decoding: entry.shownURL, as: UTF8.self)) }

  func ended(_ request: ImageRequest, _ result: EntryResult) { ended(result, url: maskingCredentials(request.url)) }

  private func ended(_ result: EntryResult, url: @autoclosure () -> String) {
    counts.withLock { $0.count(result) }
    send(.ended(url: url(), result))
  }

  func trimmed(_ result: TrimResult) {
    let count = result.expired + result.trimmed
    guard count > 0 else { return }
    counts.withLock { $0.trimmed += count }
    send(.trimmed(result))
  }

  func warned(_ sentence: String) { send(.warning(sentence)) }

  private func send(_ event: @autoclosure () -> ImageManager.Event) {
    guard !observers.isEmpty else { return }
    let event = event()
    for observer in observers { observer.receive(event) }
  }
}
