public import Reports

extension Job {
  /// What makes the requests of this job's entries again, secrets masked: one for each way in which they are asked for.
  public var reportedRequests: [ReportedRequest] {
    let ways = entryVariants.isEmpty ? [EntryVariant(variant: nil, edge: nil)] : entryVariants
    return ways.map { way in
      ReportedRequest(variant: way.reported, curl: CurlCommand(options: CurlOptions(asking(way).request).words))
    }
  }
}
