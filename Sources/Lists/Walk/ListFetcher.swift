package import Base

/// Fetches lists that are named by URL, so that the reader doesn't depend on the network.
///
/// Called on the thread that reads the lists; must never block.
package protocol ListFetcher: AnyObject {
  /// Starts fetching a list.
  ///
  /// Credentials and other values for the user's own server are sent only if `isOwnOrigin`. For a sitemap from an
  /// index, that is whether it has the same scheme, host and port as the URL that the user named.
  func fetch(_ url: BaseURL, isOwnOrigin: Bool) -> any ListFetch
}

/// A list that is being fetched.
package protocol ListFetch: AnyObject {
  /// The outcome; nil until the fetch ends.
  var outcome: ListFetchOutcome? { get }
  /// A descriptor that becomes readable when ``outcome`` is set; it lives as long as this object. Isn't used if the
  /// outcome is there from the start.
  var descriptor: Int32 { get }
  /// Cancels the fetch; its outcome is no longer needed.
  func cancel()
}

/// The outcome of fetching a list.
package enum ListFetchOutcome: Sendable {
  case fetched(FetchedList)
  /// The reason why it can't be fetched: one sentence, without the URL.
  case failed(String)
}

/// A list's bytes, in a file that isn't shared.
package protocol FetchedBytes: AnyObject, Sendable {
  /// A regular file, positioned at its start; open as long as this object lives.
  var descriptor: Int32 { get }
}

extension UnnamedFile: FetchedBytes {}

/// A list that was fetched.
package struct FetchedList: Sendable {
  /// The bytes as the server sent them; those of a `.gz` file are still compressed.
  package var bytes: any FetchedBytes
  /// The `Content-Type` header, if any.
  package var contentType: String?
  /// The URL that responded, against which relative entries are resolved; nil if it is the requested URL.
  package var finalURL: BaseURL?

  package init(bytes: any FetchedBytes, contentType: String? = nil, finalURL: BaseURL? = nil) {
    self.bytes = bytes
    self.contentType = contentType
    self.finalURL = finalURL
  }
}

/// Opens the files of lists and keeps track of fetches.
final class ListOpener {
  /// The number of simultaneous fetches, including the one that the reader is waiting for.
  static let fetchesAhead = 4

  /// The outcome of opening a file.
  enum Opening {
    /// The file, and the URL that responded.
    case open(OpenList, BaseURL?)
    /// The fetch isn't done; the descriptor becomes readable when it is.
    case wouldBlock(Int32)
  }

  private let spoolDirectory: String
  private let standardInput: Int32
  private let fetcher: (any ListFetcher)?
  let time: TimeSource
  private var fetches: [Int: any ListFetch] = [:]
  /// The counters and pages of lists, by the index of the list.
  private var counters: [Int: RequestCounter] = [:]
  private var crawls: [Int: PageCrawl] = [:]

  init(spoolDirectory: String, standardInput: Int32, fetcher: (any ListFetcher)?, time: TimeSource) {
    self.spoolDirectory = spoolDirectory
    self.standardInput = standardInput
    self.fetcher = fetcher
    self.time = time
  }

  deinit { for fetch in fetches.values { fetch.cancel() } }

  func isStandardInput(_ input: InputDescriptor) -> Bool { input.descriptor == standardInput }

  /// Throws if the file must be fetched but there is no fetcher.
  func checkCanFetch(_ file: ListFile) throws(ListError) {
    guard fetcher == nil else { return }
    throw ListError(manifest: file.name, message: "this command makes no requests; download the list to a file first")
  }

  /// Starts fetching a file, unless it is local or the fetch has started.
  func beginFetch(_ index: Int, _ file: ListFile) {
    guard let url = file.url, fetches[index] == nil, let fetcher else { return }
    fetches[index] = fetcher.fetch(url, isOwnOrigin: file.isOfOwnOrigin)
  }

  func open(_ index: Int, _ file: ListFile, of list: URLList) throws(ListError) -> Opening {
    let input: InputDescriptor?
    switch file.location {
    case .path(let path): input = try InputError.naming(file.name) { () throws(InputError) in try InputDescriptor(path: path) }
    case .standardInput:
      input = try InputError.naming(file.name) { () throws(InputError) in
        try InputDescriptor(descriptor: standardInput, isOwned: false)
      }
    case .url(let url): return try openFetched(index, file, at: url, of: list)
    case nil: input = nil
    }
    return .open(OpenList(index, file, of: list, input: input, by: self, url: file.base), nil)
  }

  private func openFetched(_ index: Int, _ file: ListFile, at url: BaseURL, of list: URLList) throws(ListError) -> Opening {
    beginFetch(index, file)
    guard let fetch = fetches[index] else { preconditionFailure("checkCanFetch() must be called first") }
    switch fetch.outcome {
    case nil: return .wouldBlock(fetch.descriptor)
    case .failed(let sentence):
      fetches[index] = nil
      throw ListError(manifest: file.name, message: "cannot fetch it: \(sentence)")
    case .fetched(let fetched):
      fetches[index] = nil
      let input = try InputError.naming(file.name) { () throws(InputError) in
        try InputDescriptor(descriptor: fetched.bytes.descriptor, isOwned: false)
      }
      let own = fetched.finalURL ?? url
      let base = file.kind == .listed || file.kind == .sitemap ? list.baseURL ?? own : own
      return .open(OpenList(index, file, of: list, input: input, by: self, fetched: fetched, url: base), own)
    }
  }

  /// Drops the counts and pages of that list, after all its files have been read.
  func endList(_ list: Int) {
    counters[list] = nil
    crawls[list]?.end()
  }

  /// The pages that a list has led to.
  func crawl(of index: Int, _ list: URLList) -> PageCrawl {
    if let crawl = crawls[index] { return crawl }
    let crawl = PageCrawl(list)
    crawls[index] = crawl
    return crawl
  }

  func makeCounter() -> RequestCounter { RequestCounter(spoolDirectory: spoolDirectory) }

  /// The counter that all files of a list of logs share.
  func counter(of list: Int) -> RequestCounter {
    if let counter = counters[list] { return counter }
    let counter = makeCounter()
    counters[list] = counter
    return counter
  }

  func cancelFetches(of files: [Int]) { for file in files { fetches.removeValue(forKey: file)?.cancel() } }
}
