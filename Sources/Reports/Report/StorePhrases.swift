import ImagePrimitives

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
