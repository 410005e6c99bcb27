import ArgumentParser
import ImageCaching
import ImageManaging
import Reports
import WarmJobs

extension CacheCommand {
  /// `prewarm cache import`.
  struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "import",
      abstract: "Add the images of other caches, or of a folder of files that are named by the MD5 of their URLs.",
      discussion: """
        The newest image of each URL wins. Times, freshness and validators of another cache come over with its images, and so \
        does what its blacklist knows; a file counts as stored when it was last written. The names in a flat folder do not tell \
        URLs: --urls or the manifests of --job say which to look for.

        The cache is made where it is not there. Images whose URL has a user or a password come only from caches with the same KEY file. \
        Ends with 1 where something is damaged or no image, and so is left out; the others are in the cache.
        """
    )

    @Argument(
      help: "Folders: of another prewarm cache, of one of its namespaces, or of image files.",
      completion: .directory
    )
    var others: [String]

    @Option(help: ArgumentHelp("The namespace in another cache; by default that of this one.", valueName: "name"))
    var fromNamespace: String?

    @Option(
      help: ArgumentHelp("A manifest with the URLs of a flat folder's files; may be repeated.", valueName: "manifest"),
      completion: .file()
    )
    var urls: [String] = []

    @OptionGroup var options: CacheOptions

    func run() throws {
      var target = try options.open(.readWrite, isMade: true)
      if !urls.isEmpty { target.job.manifests = urls.map { Job.Manifest(named: $0) } }
      let sources = try others.map { path in
        try withCacheErrors { () throws(CacheError) in
          try ReadOnlyCache(opening: path, namespace: fromNamespace ?? target.cache.configuration.namespace)
        }
      }
      try check(sources, target.job)
      var isAllTaken = true
      for (path, source) in zip(others, sources) {
        let result =
          switch source {
          case .cache(let other):
            try withCacheErrors { () throws(CacheError) in try target.cache.importEntries(from: other, onEntry: tell) }
          case .folder(let folder): try flatImport(folder, into: target)
          }
        try show(result, of: path)
        if result.damaged + result.unusable > 0 { isAllTaken = false }
      }
      if !isAllTaken { throw ExitCode(ExitStatus.couldNotFinish.rawValue) }
    }

    /// Flat folders need URLs, which standard input gives once only.
    private func check(_ sources: [ReadOnlyCache], _ job: Job) throws {
      let folders = sources.compactMap { if case .folder(let folder) = $0 { folder } else { nil } }
      guard let first = folders.first else { return }
      if job.manifests.isEmpty {
        let advice = "give --urls MANIFEST, or --job JOB.yaml with its manifests"
        throw CommandError(.misused, "\(first.path) is no prewarm cache, and names of files do not tell URLs; \(advice)")
      }
      if folders.count > 1, job.manifests.contains(where: \.isStandardInput) {
        throw CommandError(.misused, "standard input can be read for one folder only; import the others by calls of their own")
      }
    }

    private func flatImport(_ folder: FlatFolder, into target: OpenedCache) throws -> ImportResult {
      let images: ManifestImages
      do throws(JobError) {
        images = try ManifestImages(target.job, for: target.cache)
      } catch {
        throw CommandError(.couldNotFinish, "\(error)")
      }
      let probe = ImageFileProbe()
      let result = try withCacheErrors { () throws(CacheError) in
        try target.cache.importFlat(folder, images: images, onEntry: tell) { bytes in try probe.prove(bytes) }
      }
      if let failure = images.failure { throw CommandError(.couldNotFinish, "\(failure)") }
      if images.invalidLines > 0 {
        Note.plain("\(counted(UInt64(images.invalidLines), "entry", plural: "entries")) of the manifests passed over: no URL")
      }
      return result
    }

    private func tell(_ event: ImportEvent) {
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
      if options.json {
        return try printJSON([
          "source": source,
          "imported_entries": result.imported,
          "imported_bytes": result.bytes,
          "blacklisted_urls": result.blacklisted,
          "not_newer_entries": result.notNewer,
          "damaged_entries": result.damaged,
          "unusable_files": result.unusable,
          "entries_with_foreign_credentials": result.foreignCredentials,
          "urls_not_found": result.notFound,
        ])
      }
      var clauses = [
        "\(counted(UInt64(result.imported), "image")), \(byteCount(Double(result.bytes))) from \(escapedForTerminal(source))"
      ]
      let others = [
        (result.blacklisted, "URL", "blacklisted"), (result.notNewer, "image", "not newer than here"),
        (result.damaged, "image", "damaged"),
        (result.foreignCredentials, "image", "with credentials under another KEY"), (result.unusable, "file", "unusable"),
        (result.notFound, "URL", "without a file"),
      ]
      clauses += others.filter { $0.0 > 0 }.map { "\(counted(UInt64($0.0), $0.1)) \($0.2)" }
      try printData(clauses.joined(separator: "; ") + "\n")
    }
  }
}
