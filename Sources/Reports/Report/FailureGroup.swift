public import Base

public struct FailureRecord: Sendable, Equatable {
  /// How many a report lists by default; a JSON report never lists more.
  public static let listedLimit = 10_000
  /// The limit of their URLs and messages in bytes.
  static let listedBytes = 16 << 20

  /// The URL as written and resolved, with credentials masked; bytes that aren't UTF-8 became U+FFFD.
  public var url = ""
  /// The manifest's path, as the job names it.
  public var manifest = ""
  /// From 1; 0 if it has no line.
  public var line: UInt64 = 0
  public var priority = LoadPriority.normal
  package var variant = RequestVariant.plain
  /// `failed` or `blacklisted`.
  public var outcome = LoadOutcome.failed
  public var failure: ImageFailure?
  public var attempts: UInt32 = 0
  /// The status of remote caches; nil if it wasn't checked.
  package var remoteCache: RemoteCacheStatus?
  public var isBlacklisted = false
  public var standing = FailureStanding.counts
  /// The identifier of its row; nil if it has none.
  package var id: String?
  /// The element of the page that names it, and the attribute; nil if the list isn't a page.
  package var element: String?
  package var attribute: String?
  /// How many pages use it; 0 if the list isn't a page.
  package var pages: UInt64 = 0
  /// When the first of the runs in a row started in which it is bad, and their number; nil and 0 if this is the first.
  package var badSince: Timestamp?
  package var badRuns: UInt64 = 0
  /// Other lines that name its image, such as `more.csv:7`, at most ``locationLimit``.
  package var otherLocations: [String] = []
  /// Identifies its image during the run; 0 in a finished report.
  var imageKey: UInt64 = 0

  static let locationLimit = 20
}

extension FailureRecord {
  /// What its list says besides the URL, such as `img srcset, on 12 pages`; nil if that is all.
  var origin: String? {
    var parts: [String] = []
    if let id { parts.append("id \(id.shortened(to: 60))") }
    if let element { parts.append("\(element) \(attribute ?? "")".shortened(to: 60)) }
    if let badSince { parts.append("bad since \(badSince.dayText) (\(counted(badRuns, "run")))") }
    if pages > 1 { parts.append("on \(grouped(pages)) pages") }
    if !otherLocations.isEmpty { parts.append("also in \(otherLocations.joined(separator: ", "))") }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// Such as `urls/hero.txt:17`; a very long path is cut.
  var location: String { place(manifest.shortened(to: 160), line) }
}

/// A line of a list, such as `urls.txt:17`; the list if it has no lines.
func place(_ manifest: String, _ line: UInt64) -> String { line > 0 ? "\(manifest):\(line)" : manifest }

extension [FailureRecord] {
  /// Those that count in the verdict, then the others.
  var countingFirst: [FailureRecord] { filter { $0.standing == .counts } + filter { $0.standing != .counts } }
}

/// Entries with the same kind of failure and the same message, whose numbers, URLs, quoted texts and host may differ; for `http-status`, those
/// with the same status.
public struct FailureGroup: Sendable, Equatable, Countable {
  /// How many examples a report has of each; those that count come before known ones.
  static let exampleLimit = 10
  /// How many hosts a report names of each.
  static let hostLimit = 8
  /// How many different messages of a kind have groups; the others share one.
  static let messageLimit = 16

  struct Key: Hashable {
    var kind: FailureKind?
    var status: Int?
    /// The words that their messages share; an ellipsis for any message.
    var words = "…"

    /// The key of the group for messages that have none of their own.
    var ofOthers: Key { Key(kind: kind, status: status) }
  }

  /// Nil for blacklisted entries whose reason is unknown.
  public var kind: FailureKind?
  public var status: Int?
  /// The message of each, in which an ellipsis stands for parts that differ; nil if messages differ in their words.
  public var message: String?
  public var failed: UInt64 = 0
  /// How many weren't requested since they were blacklisted for this reason.
  public var blacklisted: UInt64 = 0
  /// The hosts with most of them, descending.
  public var hosts: [HostCount] = []
  /// How many belong to hosts that aren't listed.
  public var elsewhere: UInt64 = 0
  /// How many of both count in the verdict.
  public var counting: UInt64 = 0
  /// The first ten.
  public var examples: [FailureRecord] = []

  static var counts: KeyValuePairs<StaticString, WritableKeyPath<FailureGroup, UInt64>> {
    ["failed": \.failed, "blacklisted": \.blacklisted, "counting": \.counting]
  }

  public var count: UInt64 { failed + blacklisted }
  var key: Key { Key(kind, status, message: message ?? "", host: onlyHost) }

  /// Nil if it has several.
  var onlyHost: String? { hosts.count == 1 ? hosts[0].host : nil }

  /// The first hosts with their counts, and the count of the others: `img.example.com 7, elsewhere 3`. `name` formats names.
  func hostPhrase(limit: Int, _ name: (String) -> String) -> String {
    let others = hosts.dropFirst(limit).reduce(elsewhere) { $0 + $1.count }
    let listed = hosts.prefix(limit).map { "\(name($0.host)) \(grouped($0.count))" }
    return (listed + (others > 0 ? ["elsewhere \(grouped(others))"] : [])).joined(separator: ", ")
  }

  /// The order of reports: failures that count come before known ones, hosts that are down before other kinds, then the largest groups,
  /// then by name.
  func isBefore(_ other: FailureGroup) -> Bool {
    if (counting > 0) != (other.counting > 0) { return counting > 0 }
    if (kind == .hostDown) != (other.kind == .hostDown) { return kind == .hostDown }
    return (other.counting, other.count, sortingName) < (counting, count, other.sortingName)
  }

  private var sortingName: String { "\(kind?.name ?? "") \(status ?? 0) \(message ?? "")" }

  /// Lists the hosts with most failures; failures of the others count as elsewhere.
  mutating func list(_ counts: [HostCount]) {
    let sorted = counts.sorted { ($1.count, $0.host) < ($0.count, $1.host) }
    hosts = Array(sorted.prefix(Self.hostLimit))
    elsewhere += sorted.dropFirst(Self.hostLimit).reduce(0) { $0 + $1.count }
  }
}

extension FailureGroup.Key {
  /// The key of a failure of an entry on that host; see ``ofOthers``.
  init(_ failure: ImageFailure?, host: String?) {
    self.init(failure?.kind, failure?.kind == .httpStatus ? failure?.status : nil, message: failure?.message ?? "", host: host)
  }

  init(_ kind: FailureKind?, _ status: Int?, message: String, host: String?) {
    self.init(kind: kind, status: status)
    // A status says more than the words around it, which depend on method, protocol and server.
    if kind != .httpStatus, !message.isEmpty { words = MessagePattern(message, host: host).words }
  }
}

public struct HostCount: Sendable, Equatable {
  /// Host and port, if it isn't the scheme's own.
  public var host = ""
  public var count: UInt64 = 0
}

/// How many failed and blacklisted entries count in the verdict.
public struct FailureStandings: Sendable, Equatable {
  public var counting: UInt64 = 0
  /// How many failed in the baseline, too.
  public var known: UInt64 = 0
  /// How many may be temporary, and were good in the last run.
  public var inGrace: UInt64 = 0
  /// How many are of hosts whose failures are only warnings.
  public var warned: UInt64 = 0
  public var countingByKind: [FailureKind: UInt64] = [:]

  /// How many don't count.
  var excused: UInt64 { known + inGrace + warned }

  /// Why some don't count, `known or in grace`; empty if all count.
  var excuses: String {
    let names: [(UInt64, FailureStanding)] = [(known, .known), (inGrace, .inGrace), (warned, .warned)]
    return names.filter { $0.0 > 0 }.compactMap(\.1.phrase).joined(separator: " or ")
  }

  mutating func count(_ standing: FailureStanding, kind: FailureKind?) {
    switch standing {
    case .counts:
      counting += 1
      if let kind { countingByKind[kind, default: 0] += 1 }
    case .known: known += 1
    case .inGrace: inGrace += 1
    case .warned: warned += 1
    }
  }
}

/// Whether a failure counts in the verdict; the raw value is the name in reports.
public enum FailureStanding: String, Sendable {
  case counts
  /// It failed in the baseline, too.
  case known
  /// It may be temporary, and was good in one of the last runs that ``FailOn/temporaryRuns`` asks for.
  case inGrace = "in_grace"
  /// Failures of its host are only warnings.
  case warned
}

/// Where the failures of a run are: hosts without a good entry, and folders with many failures.
extension FinishedReport {
  /// The hosts of which every entry is bad, those with most entries first; none if the run has one host only.
  var downHosts: [HostSummary] {
    guard hosts.count > 1 else { return [] }
    return hostsByFailures.filter { $0.totals.considered > 1 && $0.totals.bad == $0.totals.considered }
  }

  /// The folders with many of the listed failures, the largest first.
  var failureFolders: [(folder: String, count: UInt64)] {
    let least = max(FailureFolders.least, failures.count / 20)
    return FailureFolders(failures.map(\.url), least: least).largest.map { ($0.name, UInt64($0.members.count)) }
  }

  /// `img.example.com/catalog/2025/summer/ 700`; the count is a lower bound if not all failures are listed.
  func phrase(ofFolder folder: (folder: String, count: UInt64), _ name: (String) -> String) -> String {
    "\(name(folder.folder)) \(failuresOmitted > 0 ? "at least " : "")\(grouped(folder.count))"
  }

  /// Sentences about the hosts and folders, the most important first; `name` formats names.
  func placeSentences(limit: Int = 3, _ name: (String) -> String) -> [String] {
    let down = downHosts
    var sentences = down.prefix(limit).map { "every URL of \(name($0.host)) is bad (\(grouped($0.totals.bad)))" }
    if down.count > limit { sentences.append("and of \(counted(UInt64(down.count - limit), "more host"))") }
    let folders = failureFolders.prefix(limit).map { phrase(ofFolder: $0, name) }
    return sentences + (folders.isEmpty ? [] : [folders.joined(separator: ", ")])
  }
}

/// The folders of URLs that have many of them, each with those in it that aren't in a listed folder below it.
struct FailureFolders {
  static let least = 10
  private static let depthLimit = 8

  /// The names, as host and path, and the indices of their URLs.
  private(set) var largest: [(name: String, members: [Int])] = []
  private(set) var others: [Int] = []

  init(_ urls: [String], least: Int) {
    var levels = [[String: [Int]]](repeating: [:], count: Self.depthLimit + 1)
    for (index, url) in urls.enumerated() {
      guard let (folder, depth) = Self.folder(of: url), depth > 0 else {
        others.append(index)
        continue
      }
      levels[depth][folder, default: []].append(index)
    }
    for depth in levels.indices.dropFirst().reversed() {
      for (folder, members) in levels[depth] {
        if members.count >= least {
          largest.append((folder, members.sorted()))
        } else if depth > 1 {
          levels[depth - 1][Self.parent(of: folder), default: []] += members
        } else {
          others += members
        }
      }
    }
    largest.sort { ($1.members.count, $0.name) < ($0.members.count, $1.name) }
    others.sort()
  }

  /// The host and path up to the last slash, and the number of folders in it; nil for text that isn't a URL.
  private static func folder(of url: String) -> (String, depth: Int)? {
    guard let start = url.firstRange(of: "://")?.upperBound, let host = url.hostAndPort else { return nil }
    let path = url[start...].prefix { $0 != "?" && $0 != "#" }.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    let folders = path.dropLast().prefix(depthLimit)
    return (folders.reduce(host + "/") { $0 + $1 + "/" }, folders.count)
  }

  private static func parent(of folder: String) -> String {
    let end = folder.dropLast().lastIndex(of: "/") ?? folder.startIndex
    return String(folder[...end])
  }
}
