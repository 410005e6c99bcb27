import ArgumentParser
import Base
import Glibc
import ImageCaching
import ImageManaging
import Jobs
import Reports

extension CacheCommand {
  struct Export: ParsableCommand {
    enum Layout: String, ExpressibleByArgument, CaseIterable {
      case urlPath = "url-path"
      case sdwebimage
    }

    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Export cached images as files, for a server or an app",
      discussion: """
        Files are named host/path, with a hash if the URL has a query or unusual characters. Resized images have the extension of their \
        format.

        With --job, exports the images of that job's URLs, as its transform made them. Without, exports all images except resized ones.

        --name names files by a pattern of {id} (the identifier in the job's list), {host}, {path}, {hash} and {ext}. A name that another \
        URL has already gets a hash, so no image is lost.

        Replaces existing files; exports expired images too; doesn't follow symbolic links below the folder; skips URLs with a user or \
        password; keeps files that have the same bytes already. --delete removes files of earlier exports with the same layout, but none \
        of the job's URLs, and none if nothing was exported. Give each export its own folder.

        Exits with 1 if an image is damaged, or if two URLs have the same path; then the newer image is kept.

        EXAMPLES:
          prewarm cache export --to site
          prewarm cache export --job job.yaml --to site --delete
          prewarm cache export --to out --nginx-map out.map

        Show rare options with 'prewarm cache export --help-hidden'.
        """
    )

    @OptionGroup(title: rareOptions, visibility: .hidden)
    var naming: LayoutOptions

    @Flag(help: "Export resized images instead of originals")
    var transformed = false

    @Flag(help: "Delete files of earlier exports that aren't in this one")
    var delete = false

    @Option(help: ArgumentHelp("Name files by a pattern, such as '{id}.{ext}'", valueName: "pattern"))
    var name: String?

    @Option(help: ArgumentHelp("Write each URL and its file to a JSON Lines file", valueName: "file"), completion: .file())
    var map: String?

    @Option(help: ArgumentHelp("Write a map of URLs to files for nginx", valueName: "file"), completion: .file())
    var nginxMap: String?

    @Option(help: ArgumentHelp("Write to this folder; create it if needed", valueName: "folder"), completion: .directory)
    var to: String

    @OptionGroup(title: "Cache")
    var options: CacheOptions

    /// For apps that use SDWebImage, which finds flat files in its additional cache paths.
    struct LayoutOptions: ParsableArguments {
      @Option(help: "Name files by URL, or by MD5 for SDWebImage (default: url-path)")
      var layout: Layout?

      @Flag(help: "Add the URL's extension to names; implies --layout sdwebimage")
      var withExtension = false
    }

    func validate() throws {
      if naming.withExtension, naming.layout == .urlPath {
        throw ValidationError("--with-extension requires --layout sdwebimage; url-path keeps the names of URLs")
      }
      if name != nil, naming.layout != nil || naming.withExtension {
        throw ValidationError("--name and --layout exclude each other; use one")
      }
      if let pattern = try pattern() {
        if delete {
          throw ValidationError("--delete recognises only default names; export to an empty folder, or leave out --name")
        }
        if pattern.usesIDs, options.job == nil {
          throw ValidationError("--name '{id}' requires --job, whose lists have the identifiers")
        }
      }
      if to.isEmpty { throw ValidationError("--to needs a folder, such as --to site") }
    }

    /// The pattern of `--name`; nil for the default names, which `{host}/{path}` describes, too.
    private func pattern() throws -> NamePattern? {
      guard let name, name != "{host}/{path}" else { return nil }
      do throws(NamePattern.Failure) {
        return try NamePattern(name)
      } catch {
        throw ValidationError("--name \(named(name)) \(error)")
      }
    }

    private struct Outcome {
      var result = ExportResult()
      var map = ExportMap()
      /// Why reading the job's lists broke off; nil if it didn't.
      var breakage: String?
    }

    func run() throws {
      try LocalTarget.check(to, option: "--to ")
      let opened = try options.open(.readOnly)
      let outcome = options.job == nil ? try exportCache(opened.cache) : try exportJob(opened)
      let result = outcome.result
      if let map { try write(outcome.map.jsonLines, to: map) }
      if let nginxMap {
        let (text, lacking) = outcome.map.nginx(folder: to)
        try write(text, to: nginxMap)
        if lacking > 0 {
          Note.plain("\(nginxMap): \(counted(lacking, "URL")) left out; others have the same host and path")
        }
      }
      try options.print(
        [
          "directory": to,
          "exported_entries": result.exported,
          "exported_bytes": result.bytes,
          "damaged_entries": result.damaged,
          "entries_with_credentials": result.withCredentials,
          "superseded_entries": result.superseded,
          "colliding_entries": result.collisions,
          "transformed_entries": result.transformed,
          "urls_not_cached": result.missing,
          "renamed_entries": result.renamed,
          "entries_without_id": result.withoutID,
          "deleted_files": result.removed,
        ],
        sentence(result)
      )
      if let breakage = outcome.breakage { Note.error(breakage) }
      if delete, result.exported == 0 { Note.error("nothing was exported, so nothing was deleted from \(named(to))") }
      let isEmptied = delete && result.exported == 0
      if result.damaged + result.collisions > 0 || outcome.breakage != nil || isEmptied {
        throw ExitCode(ExitStatus.couldNotFinish.rawValue)
      }
    }

    private func write(_ text: String, to path: String) throws {
      do throws(ReportError) {
        let file = try ReportFile(path: path)
        try Array(text.utf8).withRawBytes { bytes throws(ReportError) in try file.write(bytes) }
        try file.commit()
      } catch {
        throw CommandError(.couldNotFinish, "\(error)")
      }
    }

    private var exportLayout: ExportLayout {
      // Only SDWebImage's layout has the option of an extension.
      naming.layout == .sdwebimage || naming.withExtension ? .sdwebimage(withExtension: naming.withExtension) : .urlPath
    }

    private func exportCache(_ cache: ImageCache) throws -> Outcome {
      var map = ExportMap()
      let result = try cache.export(
        to: to,
        layout: exportLayout,
        names: try pattern(),
        images: transformed ? .transformed : .original,
        onEntry: { report($0, &map) },
        removesOthers: { delete && $0.exported > 0 }
      )
      return Outcome(result: result, map: map)
    }

    private func exportJob(_ opened: OpenedCache) throws -> Outcome {
      if transformed, opened.job.transform == nil {
        throw CommandError(.misused, "--transformed: job \(opened.job.name) has no transform; leave out --transformed or --job")
      }
      let images = try ListImages(stored: opened.job, in: opened.cache)
      let manager = try ImageManager(ImageManager.Configuration())
      defer { manager.blocking.shutDown() }
      var map = ExportMap()
      let result = try images.fetching(with: manager) {
        try opened.cache.export(
          images,
          to: to,
          layout: exportLayout,
          names: try pattern(),
          onEntry: { report($0, &map) },
          removesOthers: { delete && $0.exported > 0 && images.failure == nil }
        )
      }
      for warning in images.warnings { Note.plain(warning) }
      images.noteInvalidLines()
      return Outcome(result: result, map: map, breakage: images.failure.map { "\($0)\(delete ? "; nothing was deleted" : "")" })
    }

    /// Adds exported files to `map`, and reports images that weren't exported because of an error.
    private func report(_ event: ExportEvent, _ map: inout ExportMap) {
      if case .exported(let url, let id, let file, let bytes) = event, self.map != nil || nginxMap != nil {
        map.add(url, id: id, file: file, bytes: bytes)
      }
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

    private func sentence(_ result: ExportResult) -> String {
      let others = [
        (result.damaged, "damaged image", "skipped"), (result.withCredentials, "image", "skipped: user or password in the URL"),
        (result.superseded, "older image", "skipped of the same URL"),
        (result.collisions, "image", "skipped: same path as another URL"),
        (result.transformed, "resized image", "skipped (use --transformed to export them)"),
        (result.missing, "image", "of the job not cached"), (result.renamed, "name", "of another URL got a hash"),
        (result.withoutID, "image", "without id named by hash"), (result.removed, "file", "deleted"),
      ]
      return clauses("\(counted(result.exported, "image")), \(byteCount(result.bytes)) to \(escapedForTerminal(to))", others)
    }
  }
}

extension ListImages {
  func noteInvalidLines() {
    if invalidLines > 0 { Note.plain("skipped \(counted(invalidLines, "line")) of the lists: not a URL") }
  }
}

/// A sentence with a clause for each number that isn't 0.
func clauses(_ first: String, _ others: [(count: Int, noun: String, end: String)]) -> String {
  ([first] + others.filter { $0.count > 0 }.map { "\(counted($0.count, $0.noun)) \($0.end)" }).joined(separator: "; ")
}

/// The files of an export with their URLs: as JSON Lines, and as a `map` of nginx.
struct ExportMap {
  private struct Item {
    var url: String
    var id: String?
    var file: String
    var bytes: Int
  }

  private var items: [Item] = []
  /// By file: a newer image of a URL replaces an older one.
  private var indices: [String: Int] = [:]

  mutating func add(_ url: [UInt8], id: String?, file: String, bytes: Int) {
    let item = Item(url: String(decoding: url, as: UTF8.self), id: id, file: file, bytes: bytes)
    if let index = indices[file] {
      items[index] = item
    } else {
      indices[file] = items.count
      items.append(item)
    }
  }

  /// An object per line: the URL, its identifier in the list, the file and its length.
  var jsonLines: String {
    items.map { JSONTree.sorted(["url": $0.url, "id": $0.id, "file": $0.file, "bytes": $0.bytes]).line + "\n" }.joined()
  }

  /// A map from the host and target of a request to a file, and how many URLs it lacks.
  ///
  /// nginx compares strings without regard to case (`ngx_http_map_module`), so targets that differ only in case need regular expressions.
  /// Targets that two URLs share, with http and https, have the file of the first one.
  func nginx(folder: String) -> (text: String, lacking: Int) {
    let normalizer = URLNormalizer()
    var (files, order): ([String: String], [String]) = ([:], [])
    for item in items {
      guard let key = Self.key(item.url, normalizer), files[key] == nil else { continue }
      files[key] = item.file
      order.append(key)
    }
    let spellings = Dictionary(grouping: order) { $0.lowercased() }
    let longest = order.map(\.utf8.count).max() ?? 0
    var bucket = 64
    while bucket < 2 * (longest + 32) { bucket *= 2 }
    var lines = [
      "# Written by prewarm cache export. Include it in http { } before other maps, and use it in a server:",
      "#   root \(escapedForTerminal(folder)); location / { try_files /$prewarm_file =404; }",
      "map_hash_max_size \(max(2048, 2 * order.count));",
      "map_hash_bucket_size \(bucket);",
      "map $http_host$request_uri $prewarm_file {",
      "  default \"\";",
    ]
    for key in order {
      let isUnique = spellings[key.lowercased()]?.count == 1
      lines.append("  \"\(isUnique ? Self.quoted(key) : Self.expression(key))\" \"\(Self.quoted(files[key] ?? ""))\";")
    }
    return ((lines + ["}"]).joined(separator: "\n") + "\n", items.count - order.count)
  }

  /// Host, path and query as in a request; nil for a URL that nginx doesn't accept in a request.
  private static func key(_ url: String, _ normalizer: URLNormalizer) -> String? {
    var (url, bytes): (String, [UInt8]) = (url, [])
    let parts = url.withUTF8 { try? normalizer.normalize(UnsafeRawBufferPointer($0), relativeTo: nil, into: &bytes) }
    guard let parts else { return nil }
    return String(decoding: bytes[parts.hostAndPort.lowerBound..<parts.requestTarget.upperBound], as: UTF8.self)
  }

  private static func quoted(_ text: String) -> String {
    String(text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] })
  }

  /// A regular expression for exactly this text.
  private static func expression(_ text: String) -> String {
    let plain = text.utf8.map { byte in
      let isPlain =
        byte == UInt8(ascii: "/") || Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
      return isPlain && byte < 0x80 ? String(Unicode.Scalar(byte)) : "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return "~^\(plain.joined())$"
  }
}
