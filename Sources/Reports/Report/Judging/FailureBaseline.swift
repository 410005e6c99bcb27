package import Base
import CXXHash

/// How the failures of a run differ from those of an earlier one, entry by entry.
public struct BaselineDifference: Sendable, Equatable {
  /// The earlier run's report, as the user wrote its path.
  public var path: String
  /// Entries that failed permanently then, or were known.
  public var failures: UInt64
  /// Entries that failed then and are bad now.
  public var stillBad: UInt64
  /// Entries that failed then and are good now.
  public var fixed: UInt64
  /// The first of these, at most ``fixedEntryLimit``.
  package var fixedEntries: [ListedEntry] = []
  /// Entries that failed then and did not finish, were skipped, or aren't in the lists now.
  public var unseen: UInt64 { failures - stillBad - fixed }

  static let fixedEntryLimit = 100
}

/// An entry as reports list it.
package struct ListedEntry: Sendable, Equatable {
  /// The URL as written and resolved, with credentials masked; bytes that aren't UTF-8 became U+FFFD.
  public var url = ""
  package var variant = RequestVariant.plain
  /// The manifest's path, as the job names it.
  public var manifest = ""
  /// From 1; 0 if it has no line.
  public var line: UInt64 = 0

  /// The URL with the names of its variant and edge.
  var title: String { url + (variant.title.map { " (\($0))" } ?? "") }
}

/// The permanent failures of an earlier run, so that only new ones count. A temporary failure is known only if that run knew it from its
/// own baseline: so an outage makes no failure known, and doesn't make a known one new.
///
/// Entries are recognised by URL, variant and edge, whatever the reason was; each takes about 30 bytes.
public final class FailureBaseline {
  private enum Sighting: UInt8 {
    case none, good, bad
  }

  private let name: String
  /// Whether the earlier run stopped before it had a result of each entry, as far as the report says.
  public private(set) var isPartial = false
  public private(set) var isEmpty = false
  /// Those of a JSON report; rows don't say when their run ended.
  public private(set) var trend: [TrendPoint] = []
  private var known: [EntryKey: Sighting] = [:]
  private var goodCount: UInt64 = 0
  private var badCount: UInt64 = 0

  /// Reads the report at `path`: the rows of a JSON Lines report, or a JSON report that omits no failure. nil if the file doesn't exist.
  ///
  /// - Parameters:
  ///   - name: the path as the user wrote it, for the report of this run; default `path`.
  ///   - isStopped: asked before each row; if true, the rest isn't read, since the run ends before it needs a verdict.
  public init?(path: String, name: String? = nil, isStopped: () -> Bool = { false }) throws(ReportReadingError) {
    self.name = name ?? path
    if path != "-", InputFile.isMissing(path) { return nil }
    let side = try ComparedSide(path: path)
    isEmpty = side.report.map { $0.totals.urls == 0 } ?? true
    if let report = side.report {
      trend = report.trendWithThisRun
      isPartial = report.totals.cancelled > 0 || !report.end.areManifestsRead
    }
    try side.forEach(isStopped: isStopped) { entry in
      isEmpty = false
      if entry.outcome == .cancelled { isPartial = true }
      if entry.outcome.isBad, Self.isLasting(entry.failure, entry.standing) { known[entry.key] = Sighting.none }
    }
  }

  /// A fault of the machine that ran isn't one of the URL, whoever wrote the report.
  private static func isLasting(_ failure: ImageFailure?, _ standing: FailureStanding) -> Bool {
    failure?.kind.isFaultOfMachine != true && (failure?.isTransient != true || standing == .known)
  }

  public var count: Int { known.count }

  /// Returns the standing of a failed or blacklisted entry.
  public func standing(of entry: EntryKey) -> FailureStanding {
    guard let before = known[entry] else { return .counts }
    if before == .good { goodCount -= 1 }
    if before != .bad {
      known[entry] = .bad
      badCount += 1
    }
    return .known
  }

  /// Notes that an entry is good; returns whether it failed in the earlier run and is good for the first time in this one.
  public func noteGood(_ entry: EntryKey) -> Bool {
    guard known[entry] == Sighting.none else { return false }
    known[entry] = .good
    goodCount += 1
    return true
  }

  /// The difference from the earlier run so far.
  public var difference: BaselineDifference {
    BaselineDifference(path: name, failures: UInt64(count), stillBad: badCount, fixed: goodCount)
  }
}

extension FinishedReport {
  /// Throws if the report counts failures that it doesn't list; the error names the remedy.
  func checkThatAllFailuresAreListed(path: String) throws(ReportReadingError) {
    guard failuresOmitted > 0 else { return }
    let counts = "\(grouped(UInt64(failures.count))) of \(counted(totals.bad, "failure"))"
    throw ReportReadingError(path: path, message: "lists only \(counts); name the JSON Lines report of that run instead")
  }
}

extension FailureRecord {
  var key: EntryKey { listed.key }

  /// The entry without its failure.
  var listed: ListedEntry { ListedEntry(url: url, variant: variant, manifest: manifest, line: line) }
}

/// The identity of an entry across runs: a hash of its URL, as reports show it, and of its variant and edge.
///
/// XXH3 with 128 bits and seed 0, so that all machines compute the same. URLs come from outside and anyone can compute their keys, so a
/// table of keys must hash them again, with a secret of the process, as a dictionary does.
public struct EntryKey: Sendable, Hashable {
  let high: UInt64
  let low: UInt64
}

extension EntryKey {
  /// The key of an entry whose row shows `url`; bytes that aren't UTF-8 count as the U+FFFD that the row has for them.
  init(url: UnsafeRawBufferPointer, variant: RequestVariant = .plain) {
    guard isUTF8(url) else {
      var text = String(decoding: url, as: UTF8.self)
      self = text.withUTF8 { EntryKey(shown: UnsafeRawBufferPointer($0), variant) }
      return
    }
    self.init(shown: url, variant)
  }

  /// There may be millions of entries, so this doesn't allocate.
  private init(shown url: UnsafeRawBufferPointer, _ variant: RequestVariant) {
    guard variant.name != nil || variant.edge != nil else {
      self.init(hashing: url)
      return
    }
    let (name, edge) = ((variant.name ?? "").utf8, (variant.edge ?? "").utf8)
    self = withUnsafeTemporaryAllocation(byteCount: url.count + name.count + edge.count + 2, alignment: 1) { bytes in
      var end = 0
      func append(_ part: some Collection<UInt8>) {
        UnsafeMutableRawBufferPointer(rebasing: bytes[end...]).copyBytes(from: part)
        end += part.count
      }
      // A URL contains no line feed, so the parts stay distinct.
      append(url)
      append(CollectionOfOne(UInt8(ascii: "\n")))
      append(name)
      append(CollectionOfOne(UInt8(ascii: "\n")))
      append(edge)
      return EntryKey(hashing: UnsafeRawBufferPointer(bytes))
    }
  }

  private init(hashing bytes: UnsafeRawBufferPointer) {
    let hash = XXH3_128bits(bytes.baseAddress, bytes.count)
    self.init(high: hash.high64, low: hash.low64)
  }
}

private func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
  do { _ = try UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span) } catch { return false }
  return true
}
