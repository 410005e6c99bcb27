import Glibc
import Base
import Lists
import TestSupport

/// A fetcher of texts set by a test, which arrive when the test decides.
final class FakeFetcher: ListFetcher {
  enum Answer {
    case text(String)
    case bytes([UInt8])
    case typed(String, String)
    /// The URL that a redirect leads to, and the text there.
    case moved(to: String, String)
    case failure(String)
    /// Until ``FakeFetcher/finish(_:)``.
    case held(String)
  }

  private let directory = TemporaryDirectory()
  private let answers: [String: Answer]
  private let forgets: Bool
  private var fetches: [String: FakeFetch] = [:]
  private(set) var requested: [String] = []
  /// URLs that may get values for the user's own server.
  private(set) var requestedAsOwn: [String] = []
  private(set) var cancelled: [String] = []

  /// If `forgets`, nothing is kept of requests.
  init(_ answers: [String: Answer], forgets: Bool = false) { (self.answers, self.forgets) = (answers, forgets) }

  func fetch(_ url: BaseURL, isOwnOrigin: Bool) -> any ListFetch {
    let text = String(decoding: url.bytes, as: UTF8.self)
    let fetch = FakeFetch { [weak self] in self?.cancelled.append(text) }
    if !forgets {
      requested.append(text)
      if isOwnOrigin { requestedAsOwn.append(text) }
      fetches[text] = fetch
    }
    switch answers[text] {
    case .text(let body): fetch.end(fetched(Array(body.utf8)))
    case .bytes(let body): fetch.end(fetched(body))
    case .typed(let type, let body): fetch.end(fetched(Array(body.utf8), type: type))
    case .moved(let target, let body):
      guard case .fetched(var fetched) = fetched(Array(body.utf8)) else { preconditionFailure("a fetch without a result") }
      fetched.finalURL = try! BaseURL(target)
      fetch.end(.fetched(fetched))
    case .failure(let sentence): fetch.end(.failed(sentence))
    case .held: break
    case nil: fetch.end(.failed("the server answered 404 Not Found"))
    }
    return fetch
  }

  /// Finishes a fetch that was held back.
  func finish(_ url: String) {
    guard case .held(let text)? = answers[url] else { preconditionFailure("\(url) is not held back") }
    fetches[url]!.end(fetched(Array(text.utf8)))
  }

  private func fetched(_ bytes: [UInt8], type: String? = nil) -> ListFetchOutcome {
    .fetched(FetchedList(bytes: FakeBytes(directory.write(bytes, to: "fetched")), contentType: type))
  }

  private final class FakeBytes: FetchedBytes {
    let descriptor: Int32
    init(_ path: String) {
      descriptor = open(path, O_RDONLY | O_CLOEXEC)
      unlink(path)
    }
    deinit { close(descriptor) }
  }
}

private final class FakeFetch: ListFetch {
  private let pipe = TestPipe()
  private let onCancel: () -> Void
  private(set) var outcome: ListFetchOutcome?

  init(_ onCancel: @escaping () -> Void) { self.onCancel = onCancel }

  var descriptor: Int32 { pipe.readEnd }

  func end(_ outcome: ListFetchOutcome) {
    self.outcome = outcome
    pipe.write([1])
  }

  func cancel() { onCancel() }
}
