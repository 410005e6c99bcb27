import ArgumentParser
import ImageCaching
import ImageManaging
import Reports
import Jobs

extension CacheCommand {
  struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "import",
      abstract: "Import images from other caches or from folders of files",
      discussion: """
        The newest image of each URL wins. From another cache, prewarm imports the images with their times and validators, and the \
        blacklist. In a folder of files, each named by the MD5 of its URL, prewarm looks for the URLs of --urls or of the lists of --job. \
        A file counts as stored when it was last written.

        A missing cache is created. Images of URLs with a user or password are only imported from a cache with the same KEY file. Exits \
        with 1 if an image is damaged or a file isn't an image; the others are imported.

        EXAMPLES:
          prewarm cache import /mnt/backup/prewarm
          prewarm cache import sdcache --urls urls.txt

        Show rare options with 'prewarm cache import --help-hidden'.
        """
    )

    @Argument(
      help: ArgumentHelp("Import from these caches, namespaces or folders of files", valueName: "folder"),
      completion: .directory
    )
    var others: [String]

    @OptionGroup(title: rareOptions, visibility: .hidden)
    var source: SourceNamespaceOption

    @Option(help: ArgumentHelp("Read the URLs of files from this list; repeatable", valueName: "list"), completion: .file())
    var urls: [String] = []

    struct SourceNamespaceOption: ParsableArguments {
      @Option(help: ArgumentHelp("Import this namespace (default: that of this cache)", valueName: "name"))
      var fromNamespace: String?
    }

    @OptionGroup(title: "Cache")
    var options: CacheOptions

    func run() throws {
      var target = try options.open(.readWrite, isMade: true)
      if !urls.isEmpty { target.job.manifests = urls.map { Job.List(named: $0) } }
      let sources = try others.map { path in
        try ReadOnlyCache(opening: path, namespace: source.fromNamespace ?? target.cache.configuration.namespace)
      }
      try check(sources, target.job)
      var isAllTaken = true
      for (path, source) in zip(others, sources) {
        let result =
          switch source.store {
          case .cache(let other): try target.cache.importEntries(from: other, onEntry: report)
          case .folder(let folder): try flatImport(folder, into: target)
          }
        try show(result, of: path)
        if result.damaged + result.unusable > 0 { isAllTaken = false }
      }
      if !isAllTaken { throw ExitCode(ExitStatus.couldNotFinish.rawValue) }
    }

    /// Throws if folders of files have no list of URLs, or share standard input as one.
    private func check(_ sources: [ReadOnlyCache], _ job: Job) throws {
      let folders = sources.compactMap { if case .folder(let folder) = $0.store { folder } else { nil } }
      guard let first = folders.first else { return }
      if job.manifests.isEmpty {
        let advice = "list the URLs of its files with --urls FILE or --job JOB.yaml"
        throw CommandError(.misused, "\(first.path) isn't a prewarm cache; \(advice)")
      }
      if folders.count > 1, job.manifests.contains(where: \.isStandardInput) {
        throw CommandError(.misused, "standard input can be read for one folder only; import the others separately")
      }
    }

    private func flatImport(_ folder: FlatFolder, into target: OpenedCache) throws -> ImportResult {
      let images = try ListImages(target.job, for: target.cache)
      let result = try target.cache.importFlat(folder, images: images, onEntry: report) { bytes in try NewProof(ofFile: bytes) }
      if let failure = images.failure { throw failure }
      images.noteInvalidLines()
      return result
    }

    private func report(_ event: ImportEvent) {
      guard case .skipped(let url, let reason) = event else { return }
      let sentence: String? =
        switch reason {
        case .damaged(let damage): damage.phrase
        case .notAnImage(let why), .unreadable(let why): why
        case .notNewer, .foreignCredentials, .notFound: nil
        }
      if let sentence { Note.error("not imported: \(named(String(decoding: url, as: UTF8.self))) (\(sentence))") }
    }

    private func show(_ result: ImportResult, of source: String) throws {
      let others = [
        (result.blacklisted, "URL", "blacklisted"), (result.notNewer, "image", "skipped: not newer"),
        (result.damaged, "image", "damaged"),
        (result.foreignCredentials, "image", "skipped: credentials of another KEY"), (result.unusable, "file", "unusable"),
        (result.notFound, "URL", "without a file"),
      ]
      try options.print(
        [
          "source": source,
          "imported_entries": result.imported,
          "imported_bytes": result.bytes,
          "blacklisted_urls": result.blacklisted,
          "not_newer_entries": result.notNewer,
          "damaged_entries": result.damaged,
          "unusable_files": result.unusable,
          "entries_with_foreign_credentials": result.foreignCredentials,
          "urls_not_found": result.notFound,
        ],
        clauses("\(counted(result.imported, "image")), \(byteCount(result.bytes)) from \(escapedForTerminal(source))", others)
      )
    }
  }
}
