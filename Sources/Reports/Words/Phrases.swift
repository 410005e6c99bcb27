import ImagePrimitives

extension FailureStanding {
  var phrase: String? { self == .known ? "known" : nil }

  var sentence: String? { self == .known ? "known: it failed before, too" : nil }
}

extension FailureStandings {
  /// What counts and why the others do not, such as `18 count in the verdict; 2 known: they failed before, too`; nil if all count.
  var phrase: String? {
    guard known > 0 else { return nil }
    return "\(grouped(counting)) \(counting == 1 ? "counts" : "count") in the verdict; "
      + "\(grouped(known)) known: \(known == 1 ? "it" : "they") failed before, too"
  }
}

extension Placeholder {
  /// What its host did: `gave one image for 12 URLs`.
  var findingPhrase: String { "gave one image for \(counted(urls, "URL"))" }

  /// What the image is, such as `png, 1 × 1, 68 B`.
  var imagePhrase: String { Reports.imagePhrase(format: format, width: width, height: height, bytes: bytes) }
}

extension CacheSummary {
  /// `1.1 GB of 2 GB`, or `1.1 GB` where there is no limit.
  var sizePhrase: String {
    byteCount(Double(bodyBytes)) + (maximumBytes.map { " of \(byteCount(Double($0)))" } ?? "")
  }

  /// What it holds, until when that is fresh, and what was removed.
  var clauses: [String] {
    var clauses = ["\(counted(entries, "entry", plural: "entries")), \(sizePhrase)"]
    if let moment = freshUntil, entries > 0 { clauses.append("all fresh until \(moment.shortText)") }
    if expiredEntries > 0 { clauses.append("\(grouped(expiredEntries)) expired and removed") }
    if trimmedEntries > 0 { clauses.append("\(grouped(trimmedEntries)) trimmed") }
    if evictedFromThisRun > 0 { clauses.append("\(grouped(evictedFromThisRun)) of them from this run") }
    return clauses
  }
}

extension BlacklistSummary {
  /// `102 URLs, 87 new, 3 taken off`.
  var phrase: String {
    let takenOff = removed > 0 ? ", \(grouped(removed)) taken off" : ""
    return "\(counted(entries, "URL")), \(grouped(added)) new\(takenOff)"
  }
}

extension RunEnd {
  /// For how much of the run each part held up all else, `71 % per-host, 20 % cpu`; nil if that is unknown.
  var bottleneckPhrase: String? {
    let words = bottlenecks.compactMap { share in
      let percent = Int((min(1, share.fraction) * 100).rounded())
      return percent > 0 ? "\(percent) % \(share.name)" : nil
    }
    return words.isEmpty ? nil : words.joined(separator: ", ")
  }
}

extension FailureGroup {
  /// What people call it, such as `404 Not Found` and `not an image`.
  var title: String { key.title }
}

extension FailureGroup.Key {
  var title: String {
    if let status { return HTTPPhrases.phrase(of: status).map { "\(status) \($0)" } ?? "HTTP status \(status)" }
    return switch kind {
    case nil: "known bad"
    case .dns: "DNS"
    case .tls: "TLS"
    case .httpStatus: "HTTP status"
    case .invalidURL: "invalid URL"
    case .internal: "internal error"
    case .size: "bytes out of bounds"
    case .reset: "connection reset"
    case .connect: "cannot connect"
    case .truncated: "cut body"
    case .empty: "empty body"
    case let kind?: String(kind.name.map { $0 == "-" ? " " : $0 })
    }
  }
}
