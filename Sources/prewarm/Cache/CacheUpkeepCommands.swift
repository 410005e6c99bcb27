import ArgumentParser
import ImageCaching
import Reports

extension CacheCommand {
  /// `prewarm cache verify`.
  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Read every image of the cache and check it against its sum; remove what is damaged.",
      discussion: """
        What is removed is fetched again by the next run. Others may use the cache meanwhile. Ends with 1 where anything was damaged, so \
        that a script notices a disk that loses bytes; each such URL is named on standard error.
        """
    )

    @Flag(help: "Only tell what is damaged; change nothing.")
    var keep = false

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(keep ? .readOnly : .readWrite).cache
      let result = try withCacheErrors { () throws(CacheError) in
        try cache.verify(repair: !keep) { record, damage in
          Note.error("damaged: \(String(decoding: record.shownURL, as: UTF8.self)) (\(damage.phrase))")
        }
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
        clauses.append("\(counted(UInt64(clamping: result.sweptBlobs), "file")) without an image removed")
      }
      return clauses
    }
  }

  /// `prewarm cache compact`.
  struct Compact: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "compact",
      abstract: "Write the cache's index anew without its free pages, and so give their space back.",
      discussion: "Needs the cache alone: ends with 1, and says who has it open, where another process uses it."
    )

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(.readWrite).cache
      let (before, after) = try withCacheErrors { () throws(CacheError) in
        let before = try cache.diskBytes()
        try cache.compact()
        return (before, try cache.diskBytes())
      }
      if options.json { return try printJSON(["disk_bytes_before": before, "disk_bytes": after]) }
      let freed = byteCount(Double(max(0, before - after)))
      try printData("\(freed) given back, \(byteCount(Double(after))) on disk\n")
    }
  }
}

extension CachedBody.Damage {
  /// What is wrong, for a sentence.
  var phrase: String {
    switch self {
    case .missing: "its file is gone"
    case .wrongSize: "its length is not the one that was stored"
    case .wrongChecksum: "its bytes are not those that were stored"
    }
  }
}
