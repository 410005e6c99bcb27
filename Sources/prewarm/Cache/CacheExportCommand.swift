import ArgumentParser
import ImageCaching
import ImageManaging
import Reports
import WarmJobs

extension CacheCommand {
  /// `prewarm cache export`.
  struct Export: ParsableCommand {
    /// How files are named.
    enum Layout: String, ExpressibleByArgument, CaseIterable {
      case urlPath = "url-path"
      case sdwebimage
    }

    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Write cached images to files, for a server to serve or an app to bundle.",
      discussion: """
        url-path (default): as host/path, with a hash in the name if the URL has a query or unusual characters. A resized image has the \
        extension of its own format. sdwebimage: flat, each file named by the MD5 of its URL as first written, which SDWebImage finds \
        when the folder is one of its additional cache paths.

        With --job, exports the images of that job's URLs, as its transform made them; lists with a URL are fetched. Without, \
        exports all images of the cache but resized ones.

        Replaces existing files; expired images are exported too. Doesn't follow symbolic links below the folder. Skips images whose URL \
        has a user or password. --delete removes image files that an export with the same layout would write and this one didn't; with \
        url-path, only below folders named like hosts. If nothing was exported, nothing is deleted. Give each export its own folder.

        Exits with 1 if an image is damaged, or if two URLs have the same path: then the newer image is kept.

        Example: prewarm run thumbnails.yaml && prewarm cache export --job thumbnails.yaml --to site --delete
        """
    )

    @Option(help: "How files are named; url-path by default.")
    var layout: Layout?

    @Flag(help: "Add the extension of the URL's path to the name, as SDWebImage does; implies --layout sdwebimage.")
    var withExtension = false

    @Flag(help: "Export resized images instead of those stored as they came.")
    var transformed = false

    @Flag(help: "Delete image files of earlier exports that aren't in this one.")
    var delete = false

    @Option(
      help: ArgumentHelp("The folder to write to; created if it doesn't exist.", valueName: "folder"),
      completion: .directory
    )
    var to: String

    @OptionGroup var options: CacheOptions

    func validate() throws {
      if withExtension, layout == .urlPath {
        throw ValidationError("--with-extension belongs to --layout sdwebimage; url-path keeps the names of the URLs.")
      }
      if to.isEmpty { throw ValidationError("--to needs a folder.") }
    }

    /// What became of an export.
    private struct Outcome {
      var result = ExportResult()
      /// Why the job's lists could not be read to their end.
      var breakage: String?
    }

    func run() throws {
      let opened = try options.open(.readOnly)
      let outcome = options.job == nil ? try exportCache(opened.cache) : try exportJob(opened)
      let result = outcome.result
      if options.json {
        try printJSON([
          "directory": to,
          "exported_entries": result.exported,
          "exported_bytes": result.bytes,
          "damaged_entries": result.damaged,
          "entries_with_credentials": result.withCredentials,
          "superseded_entries": result.superseded,
          "colliding_entries": result.collisions,
          "transformed_entries": result.transformed,
          "urls_not_cached": result.missing,
          "deleted_files": result.removed,
        ])
      } else {
        try printData(clauses(result).joined(separator: "; ") + "\n")
      }
      if let breakage = outcome.breakage { Note.error(breakage) }
      if delete, result.exported == 0 { Note.error("nothing was exported, so nothing was deleted from \(named(to))") }
      let isEmptied = delete && result.exported == 0
      if result.damaged + result.collisions > 0 || outcome.breakage != nil || isEmptied {
        throw ExitCode(ExitStatus.couldNotFinish.rawValue)
      }
    }

    private var exportLayout: ExportLayout {
      switch layout {
      case .sdwebimage: .sdwebimage(withExtension: withExtension)
      case .urlPath: .urlPath
      // An extension is an option of that layout alone.
      case nil: withExtension ? .sdwebimage(withExtension: true) : .urlPath
      }
    }

    private func exportCache(_ cache: ImageCache) throws -> Outcome {
      let result = try withCacheErrors { () throws(CacheError) in
        try cache.export(
          to: to,
          layout: exportLayout,
          images: transformed ? .transformed : .original,
          onEntry: report,
          removesOthers: { delete && $0.exported > 0 }
        )
      }
      return Outcome(result: result)
    }

    private func exportJob(_ opened: OpenedCache) throws -> Outcome {
      if transformed, opened.job.transform == nil {
        throw CommandError(.misused, "--transformed: job \(opened.job.name) has no transform; leave out --transformed or --job")
      }
      let images: ManifestImages
      let manager: ImageManager
      do {
        images = try ManifestImages(stored: opened.job, in: opened.cache)
        manager = try ImageManager()
      } catch {
        throw CommandError(.couldNotFinish, "\(error)")
      }
      defer { manager.shutDown() }
      let result = try withCacheErrors { () throws(CacheError) in
        try images.fetching(with: manager) { () throws(CacheError) in
          try opened.cache.export(
            identities: images.lazy.map(\.identity),
            to: to,
            layout: exportLayout,
            onEntry: report,
            removesOthers: { delete && $0.exported > 0 && images.failure == nil }
          )
        }
      }
      for warning in images.warnings { Note.plain(warning) }
      if images.invalidLines > 0 {
        Note.plain("skipped \(counted(UInt64(images.invalidLines), "line")) of the lists: not a URL")
      }
      return Outcome(result: result, breakage: images.failure.map { "\($0)\(delete ? "; nothing was deleted" : "")" })
    }

    /// Names what needs somebody's attention.
    private func report(_ event: ExportEvent) {
      guard case .skipped(let bytes, let reason) = event else { return }
      let url = String(decoding: bytes, as: UTF8.self)
      switch reason {
      case .damaged(let damage): Note.error("damaged, not exported: \(url) (\(damage.phrase))")
      case .collision(let other, let file):
        let kept = String(decoding: other, as: UTF8.self)
        Note.error("\(url) and \(kept) have the same path, \(file); kept the newer image, of the latter")
      case .hasCredentials, .superseded, .transformed: break
      }
    }

    private func clauses(_ result: ExportResult) -> [String] {
      let skipped = [
        (result.damaged, "damaged image", ""), (result.withCredentials, "image", ": user or password in the URL"),
        (result.superseded, "older image", " of the same URL"), (result.collisions, "image", ": same path as another URL"),
        (result.transformed, "resized image", " (use --transformed to export them)"),
      ]
      var clauses = [
        "\(counted(UInt64(result.exported), "image")), \(byteCount(Double(result.bytes))) to \(escapedForTerminal(to))"
      ]
      clauses += skipped.filter { $0.0 > 0 }.map { "\(counted(UInt64($0.0), $0.1)) skipped\($0.2)" }
      if result.missing > 0 { clauses.append("\(counted(UInt64(result.missing), "image")) of the job not cached") }
      if result.removed > 0 { clauses.append("\(counted(UInt64(result.removed), "file")) deleted") }
      return clauses
    }
  }
}
