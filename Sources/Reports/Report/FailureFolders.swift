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
  /// Fewer URLs need no folder.
  static let least = 10
  private static let depthLimit = 8

  /// The names, as host and path, and the indices of their URLs.
  private(set) var largest: [(name: String, members: [Int])] = []
  /// The indices of the other URLs.
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
