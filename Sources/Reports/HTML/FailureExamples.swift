import ImagePrimitives

/// What a page shows beside a failure: the line that repeats its request, and a picture of what came instead.
struct FailureExamples {
  private let requests: [ReportedVariant: CurlCommand]
  private let pictures: [String: Thumbnail]

  init(_ report: FinishedReport) {
    requests = Dictionary(report.requests.map { ($0.variant, $0.curl) }) { first, _ in first }
    let failed = report.thumbnails.filter { $0.reason == .failed && $0.hasPicture }
    pictures = Dictionary(failed.map { ($0.url, $0) }) { first, _ in first }
  }

  /// A shell's line; nil where the request is not known, where there was none, and where a page cannot hold the whole URL.
  func curlLine(of record: FailureRecord) -> String? {
    guard let request = requests[record.variant], record.url.utf8.count <= 2048 else { return nil }
    guard request.options.reduce(0, { $0 + $1.utf8.count }) <= 2048 else { return nil }
    return request.line(of: record)
  }

  /// A picture of what came; nil where nothing came that can be shown.
  func thumbnail(of record: FailureRecord) -> Thumbnail? { pictures[record.url] }
}

extension FailureRecord {
  /// What else a person may want to know of it but its attempts, in a few words each.
  var facts: [String] {
    var facts: [String] = []
    if let title = variant.title { facts.append(title) }
    if let failure, failure.isTransient { facts.append("may heal by itself") }
    if isBlacklisted { facts.append(outcome == .blacklisted ? "blacklisted, not asked" : "blacklisted now") }
    if let remoteCache { facts.append("remote cache: \(remoteCache.rawValue)") }
    if let phrase = standing.phrase { facts.append(phrase) }
    return facts
  }
}
