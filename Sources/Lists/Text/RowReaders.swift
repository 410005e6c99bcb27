import Base

/// Makes the readers of one file, by the settings of its list and by what its server says.
struct RowReaders {
  let buffer: InputBuffer
  let file: ListFile
  /// The index of the file.
  let index: Int
  let manifest: URLList
  /// The format of the file; `auto` if its first bytes decide.
  let format: URLList.Format
  let context: OpenList.Context

  private var contentType: String? { context.fetched?.contentType }
  private var isOfAnyKind: Bool { manifest.isOfAnyKind && file.kind == .listed }
  /// Whether its server says that it is a page.
  var isHTML: Bool { manifest.isPage(file, contentType: contentType) }
  /// Whether a page is accepted; servers often send one instead of a missing file.
  var acceptsPages: Bool { context.fetched == nil || isOfAnyKind }
  /// The URL that leads to an image, and so is the only entry; nil if an image is refused.
  var imageURL: BaseURL? { isOfAnyKind ? file.url : nil }

  /// The reader of the format; nil if the first bytes decide.
  func given() -> (any RowReader)? {
    switch format {
    case .auto, .jsonl, .page: nil
    case .text: TextReader(buffer)
    case .csv: csv(",")
    case .tsv: csv("\t")
    case .sitemap, .feed: xml()
    case .combined: AccessLogReader(buffer, file, index: index, of: manifest, counter: context.counter())
    }
  }

  func csv(_ delimiter: Unicode.Scalar) -> CSVReader {
    CSVReader(buffer, delimiter: UInt8(ascii: delimiter), columns: manifest.columns, manifest: file.name)
  }

  func xml() -> XMLListReader {
    XMLListReader(buffer, rules: XMLListRules(manifest, of: file, now: context.now), manifest: file.name)
  }

  func page() -> PageRows {
    let rules = PageRules(lazyAttributes: manifest.lazyAttributes)
    return PageRows(buffer, of: file, at: context.url, contentType: contentType, rules, context.crawl())
  }

  /// A log that was detected is counted separately, since the files of a pattern may have different formats.
  func detectedLog() -> AccessLogReader {
    var alone = file
    alone.isLast = true
    return AccessLogReader(buffer, alone, index: index, of: manifest, counter: context.ownCounter())
  }
}
