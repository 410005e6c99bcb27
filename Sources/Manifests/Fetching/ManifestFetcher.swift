public import ImageURLs

/// Who fetches the manifests that are named by URL; the reader knows nothing of the network.
///
/// It is called on the thread that reads the manifests, and never waits.
public protocol ManifestFetcher: AnyObject {
  /// Begins to fetch a manifest, and says where its bytes will be.
  ///
  /// What is for the user's own server alone, such as credentials, goes with the request only where `isOwnOrigin`: of a sitemap
  /// that an index names, where that is of the same scheme, host and port as what the user has named.
  func fetch(_ url: BaseURL, isOwnOrigin: Bool) -> any ManifestFetch
}

/// One manifest that is under way.
public protocol ManifestFetch: AnyObject {
  /// What came of it; nil while it is under way.
  var outcome: ManifestFetchOutcome? { get }
  /// A descriptor that can be read from when there is an ``outcome`` on; it lives as long as this object. It is not asked for where
  /// the outcome is there from the start.
  var descriptor: Int32 { get }
  /// Says that nobody wants it any more.
  func cancel()
}

/// What came of fetching a manifest.
public enum ManifestFetchOutcome: Sendable {
  case fetched(FetchedManifest)
  /// Why it cannot be fetched: one sentence, without the URL.
  case failed(String)
}

/// A manifest's bytes, in a file that nobody else knows.
public protocol FetchedBytes: AnyObject, Sendable {
  /// A regular file at its start; it is open as long as this object lives.
  var descriptor: Int32 { get }
}

/// A manifest that was fetched.
public struct FetchedManifest: Sendable {
  /// Its bytes, as the server's file has them: of a `.gz` file they are compressed still.
  public var bytes: any FetchedBytes
  /// The `Content-Type` header, where there was one.
  public var contentType: String?
  /// The URL that answered, against which relative entries are resolved; nil: the one that was asked.
  public var finalURL: BaseURL?

  /// A manifest of those bytes.
  public init(bytes: any FetchedBytes, contentType: String? = nil, finalURL: BaseURL? = nil) {
    self.bytes = bytes
    self.contentType = contentType
    self.finalURL = finalURL
  }
}

/// Opens the files of manifests, and keeps those that are being fetched.
final class ManifestOpener {
  /// How many files are fetched at once, the one that is waited for among them.
  static let fetchesAhead = 4

  /// What came of opening a file that is fetched.
  enum Opening {
    /// The file, and the URL that answered.
    case open(OpenManifest, BaseURL)
    /// It is under way; the descriptor tells when there is more.
    case wouldBlock(Int32)
  }

  private let spoolDirectory: String
  private let standardInput: Int32
  private let fetcher: (any ManifestFetcher)?
  private var fetches: [Int: any ManifestFetch] = [:]
  /// Of each manifest of access logs, by its index, what counts the requests of all its files.
  private var counters: [Int: RequestCounter] = [:]

  init(spoolDirectory: String, standardInput: Int32, fetcher: (any ManifestFetcher)?) {
    self.spoolDirectory = spoolDirectory
    self.standardInput = standardInput
    self.fetcher = fetcher
  }

  deinit {
    for fetch in fetches.values { fetch.cancel() }
  }

  func isStandardInput(_ input: InputDescriptor) -> Bool { input.descriptor == standardInput }

  /// Opens a file that is there.
  func open(_ index: Int, _ file: ManifestFile, of manifest: Manifest) throws(ManifestError) -> OpenManifest {
    do throws(InputError) {
      let input: InputDescriptor? =
        switch file.location {
        case .path(let path): try InputDescriptor(path: path)
        case .standardInput: try InputDescriptor(descriptor: standardInput, isOwned: false)
        case .url: preconditionFailure("what is fetched is opened elsewhere")
        case nil: nil
        }
      return OpenManifest(index, file, of: manifest, input: input, context: context(of: file))
    } catch {
      throw error.error(in: file.name)
    }
  }

  /// Throws if nobody is there who could fetch it.
  func checkCanFetch(_ file: ManifestFile) throws(ManifestError) {
    guard fetcher == nil else { return }
    throw ManifestError(
      manifest: file.name,
      message: "it would have to be fetched, and here no request is made; fetch it to a file"
    )
  }

  /// Begins to fetch a file, unless that has begun or it is none to be fetched.
  func beginFetch(_ index: Int, _ file: ManifestFile) {
    guard case .url(let url)? = file.location, fetches[index] == nil, let fetcher else { return }
    fetches[index] = fetcher.fetch(url, isOwnOrigin: file.isOfOwnOrigin)
  }

  func openFetched(_ index: Int, _ file: ManifestFile, of manifest: Manifest) throws(ManifestError) -> Opening {
    beginFetch(index, file)
    guard case .url(let url)? = file.location, let fetch = fetches[index] else { preconditionFailure("only URLs are fetched") }
    switch fetch.outcome {
    case nil: return .wouldBlock(fetch.descriptor)
    case .failed(let sentence):
      fetches[index] = nil
      throw ManifestError(manifest: file.name, message: "it cannot be fetched: \(sentence)")
    case .fetched(let fetched):
      fetches[index] = nil
      do throws(InputError) {
        let input = try InputDescriptor(descriptor: fetched.bytes.descriptor, isOwned: false)
        let context = self.context(of: file, fetched: fetched)
        return .open(OpenManifest(index, file, of: manifest, input: input, context: context), fetched.finalURL ?? url)
      } catch {
        throw error.error(in: file.name)
      }
    }
  }

  /// Forgets what was counted in the files of that manifest, all of which have been read.
  func endCounting(of manifest: Int) { counters[manifest] = nil }

  private func context(of file: ManifestFile, fetched: FetchedManifest? = nil) -> OpenManifest.Context {
    OpenManifest.Context(
      counter: { self.counter(of: file.manifest) },
      ownCounter: { [spoolDirectory] in RequestCounter(spoolDirectory: spoolDirectory) },
      fetched: fetched
    )
  }

  private func counter(of manifest: Int) -> RequestCounter {
    if let counter = counters[manifest] { return counter }
    let counter = RequestCounter(spoolDirectory: spoolDirectory)
    counters[manifest] = counter
    return counter
  }

  /// Gives up what is under way of these files.
  func cancelFetches(of files: [Int]) {
    for file in files { fetches.removeValue(forKey: file)?.cancel() }
  }
}
