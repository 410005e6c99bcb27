import ArgumentParser
import ImageCaching
import Reports
import WarmJobs

extension CacheCommand {
  /// `prewarm cache export`.
  struct Export: ParsableCommand {
    /// How files are named.
    enum Layout: String, ExpressibleByArgument, CaseIterable {
      case sdwebimage
      case urlPath = "url-path"
    }

    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Write the cached images to files: for an app to bundle, or a server to serve.",
      discussion: """
        sdwebimage: flat, each file named by the MD5 of its URL as it was first written, which SDWebImage finds when the folder is one of \
        its additional cache paths. url-path: as host/path, with a hash in the name where a query or odd characters stand in the URL.

        Files that are there already are replaced; each is there whole or not at all. Images too old to be served are exported too. \
        Images whose URL has a user or a password are left out. Ends with 1 where an image is damaged and so is left out.
        """
    )

    @Option(help: "How files are named.")
    var layout = Layout.sdwebimage

    @Flag(help: "With sdwebimage: add the extension of the URL's path to the name, as SDWebImage names its own files.")
    var withExtension = false

    @Option(
      help: ArgumentHelp("The folder to write to; made where it is not there.", valueName: "folder"),
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

    func run() throws {
      let cache = try options.open(.readOnly).cache
      let result = try withCacheErrors { () throws(CacheError) in
        try cache.export(
          to: to,
          layout: layout == .urlPath ? .urlPath : .sdwebimage(withExtension: withExtension)
        ) { event in
          if case .skipped(let url, .damaged(let damage)) = event {
            Note.error("damaged, not exported: \(String(decoding: url, as: UTF8.self)) (\(damage.phrase))")
          }
        }
      }
      if options.json {
        try printJSON([
          "directory": to,
          "exported_entries": result.exported,
          "exported_bytes": result.bytes,
          "damaged_entries": result.damaged,
          "entries_with_credentials": result.withCredentials,
          "superseded_entries": result.superseded,
          "transformed_entries": result.transformed,
        ])
      } else {
        try printData(clauses(result).joined(separator: "; ") + "\n")
      }
      if result.damaged > 0 { throw ExitCode(ExitStatus.couldNotFinish.rawValue) }
    }

    private func clauses(_ result: ExportResult) -> [String] {
      var clauses = [
        "\(counted(UInt64(result.exported), "image")), \(byteCount(Double(result.bytes))) to \(escapedForTerminal(to))"
      ]
      let others = [
        (result.damaged, "damaged"), (result.withCredentials, "with a user or a password in the URL"),
        (result.superseded, "older than another of the same URL"), (result.transformed, "made of another image by a transformer"),
      ]
      clauses += others.filter { $0.0 > 0 }.map { "\(grouped(UInt64($0.0))) left out: \($0.1)" }
      return clauses
    }
  }
}
