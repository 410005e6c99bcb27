import Lists

/// An image of a feed: its line, URL and identifier.
struct FeedImage: Equatable, CustomStringConvertible {
  var line: UInt64
  var url: String
  var id: String?
  var description: String { "\(line) \(url) \(id ?? "-")" }
}

/// Reads a list and returns its images with their identifiers; throws if it can't be read to its end.
func readImages(_ manifest: URLList, order: EntryOrder = .fifo, fetcher: FakeFetcher? = nil) throws -> [FeedImage] {
  let result = try readAll([manifest], order: order, fetcher: fetcher)
  if let failure = result.failure { throw failure }
  return result.entries.map { FeedImage(line: $0.line, url: $0.url, id: $0.note?.id) }
}
