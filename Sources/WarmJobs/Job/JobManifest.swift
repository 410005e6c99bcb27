import ImagePrimitives
public import ImageURLs
public import Manifests

extension Job {
  /// One list of URLs, and what counts from the time of the run.
  public struct Manifest: Sendable {
    /// The list and how it is read; its time limit is that of ``newerThan``.
    public var list: Manifests.Manifest
    /// Sitemaps: only entries whose `lastmod` is later than that long ago; nil: all.
    public var newerThan: Duration?

    /// The list at a path or of a glob, or standard input for `-`, with the defaults of the job file.
    public init(_ path: JobPath) { list = Manifests.Manifest(path.manifestSource, name: path.written) }

    /// The list that is fetched from `url`.
    public init(_ url: BaseURL) { list = Manifests.Manifest(.url(url), name: url.shown) }

    /// A list of entries that stand in the job itself.
    public init(_ entries: [Manifests.Manifest.InlineEntry]) { list = Manifests.Manifest(.inline(entries), name: "urls") }

    /// The manifest that a command line names: a path or a glob, from the current folder on, or `-` for standard input.
    public init(named name: String) { self.init(JobPath(name, in: currentFolder())) }

    /// Whether its entries come from standard input, which can be read once.
    public var isStandardInput: Bool { list.source == .standardInput }

    /// The same list, read by the format, base and patterns of `settings`, as far as it has any.
    func read(by settings: Manifests.Manifest) -> Manifest {
      var manifest = self
      if settings.format != .auto { manifest.list.format = settings.format }
      manifest.list.baseURL = settings.baseURL
      manifest.list.include = settings.include
      manifest.list.exclude = settings.exclude
      return manifest
    }

    /// The list as it is read in a run that begins at `now`.
    ///
    /// - Parameter inlineName: what reports call URLs that stand in no list of their own.
    func readable(now: Timestamp, inlineName: String) -> Manifests.Manifest {
      var list = list
      if case .inline = list.source { list.name = inlineName }
      list.newerThan = newerThan.map { now.advanced(by: .zero - $0) }
      return list
    }
  }
}

extension BaseURL {
  var shown: String { String(decoding: bytes.withUnsafeBytes { maskingCredentials($0) }, as: UTF8.self) }
}

extension JobPath {
  /// A file, a pattern or standard input; of a pattern, characters of the folder's own name stand for themselves.
  fileprivate var manifestSource: Manifests.Manifest.Source {
    switch Manifests.Manifest.Source(path: written) {
    case .file: return .file(absolute)
    case .glob:
      let escaped = folder.reduce(into: "") { text, character in
        if "*?[\\".contains(character) { text += "\\" }
        text.append(character)
      }
      return .glob(JobPath(written, in: escaped).absolute)
    case let source: return source
    }
  }
}
