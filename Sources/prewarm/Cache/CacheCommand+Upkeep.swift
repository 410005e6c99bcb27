import ArgumentParser
import ImageCaching
import Reports

extension CacheCommand {
  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Verify the checksum of every image; remove damaged ones",
      discussion: """
        Other processes may use the cache meanwhile. The next run downloads removed images again. Exits with 1 if an image is damaged, and \
        prints its URL to standard error.

        EXAMPLES:
          prewarm cache verify
          prewarm cache verify --keep
        """
    )

    @Flag(help: "Report damaged images without removing them")
    var keep = false

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(keep ? .readOnly : .readWrite).cache
      let result = try cache.verify(repair: !keep) { record, damage in
        Note.error("damaged: \(String(decoding: record.shownURL, as: UTF8.self)) (\(damage.phrase))")
      }
      if options.json {
        try printJSON([
          "entries": result.entries,
          "body_bytes": result.bytes,
          "damaged_entries": result.damaged,
          "removed_entries": result.removed,
          "removed_files": result.sweptBlobs,
        ])
      } else {
        try printData(clauses(result).joined(separator: "; ") + "\n")
      }
      if result.damaged > 0 { throw ExitCode(ExitStatus.couldNotFinish.rawValue) }
    }

    private func clauses(_ result: VerifyResult) -> [String] {
      let good = UInt64(clamping: result.entries - result.damaged)
      var clauses = ["\(counted(good, "image")) good, \(byteCount(Double(result.bytes)))"]
      if result.damaged > 0 {
        clauses.append(
          "\(grouped(UInt64(clamping: result.damaged))) damaged, \(grouped(UInt64(clamping: result.removed))) removed"
        )
      }
      if result.sweptBlobs > 0 {
        clauses.append("\(counted(UInt64(clamping: result.sweptBlobs), "unused file")) removed")
      }
      return clauses
    }
  }

  struct Compact: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "compact",
      abstract: "Compact the cache index to reclaim disk space",
      discussion: """
        Requires exclusive access: exits with 1 and names the processes if others use the cache.

        EXAMPLES:
          prewarm cache compact
        """
    )

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(.readWrite).cache
      let before = try cache.diskBytes()
      try cache.compact()
      let after = try cache.diskBytes()
      if options.json { return try printJSON(["disk_bytes_before": before, "disk_bytes": after]) }
      let freed = byteCount(Double(max(0, before - after)))
      try printData("\(freed) reclaimed, \(byteCount(Double(after))) on disk\n")
    }
  }
}

extension CachedBody.Damage {
  /// The reason, for messages.
  var phrase: String {
    switch self {
    case .missing: "its file is missing"
    case .wrongSize: "its length differs from the stored one"
    case .wrongChecksum: "its checksum differs from the stored one"
    }
  }
}
