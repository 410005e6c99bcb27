/// A manifest's file while it is read.
final class OpenManifest {
  /// A sitemap may have so many bytes, uncompressed: five times what sitemaps.org allows.
  private static let maximumSitemapBytes: UInt64 = 256 << 20

  /// The index of its file.
  let file: Int
  let rows: any RowReader
  let input: InputDescriptor?
  /// The files that it has named as an index and that were not read yet.
  var children: [Int] = []
  /// Whether no more rows come.
  private(set) var hasEnded = false
  /// Why its rows broke off.
  private(set) var failure: ManifestError?
  private let buffer: InputBuffer?
  private let name: String
  /// Kept as long as the input, whose descriptor it owns.
  private let fetched: (any FetchedBytes)?

  /// The input is nil for an inline list only.
  init(_ index: Int, _ file: ManifestFile, of manifest: Manifest, input: InputDescriptor?, context: Context) {
    self.file = index
    self.input = input
    name = file.name
    fetched = context.fetched?.bytes
    if case .inline(let entries) = manifest.source, file.depth == 0 {
      buffer = nil
      rows = InlineReader(entries)
      return
    }
    guard let input else { preconditionFailure("a file is read without being opened") }
    let format =
      context.fetched.map { manifest.format(of: file, contentType: $0.contentType) } ?? manifest.format(of: file)
    let isSitemap = format == .sitemap || file.depth > 0
    let buffer = InputBuffer(InputStream(input, maximumTextBytes: isSitemap ? Self.maximumSitemapBytes : nil))
    self.buffer = buffer
    let rules = SitemapRules(manifest)
    rows =
      switch format {
      case .auto: DetectingReader(buffer, rules: rules, manifest: file.name, isFetched: context.fetched != nil)
      case .text: TextReader(buffer)
      case .csv: CSVReader(buffer, delimiter: UInt8(ascii: ","), columns: manifest.columns, manifest: file.name)
      case .tsv: CSVReader(buffer, delimiter: UInt8(ascii: "\t"), columns: manifest.columns, manifest: file.name)
      case .jsonl: JSONLinesReader(buffer, columns: manifest.columns)
      case .sitemap: SitemapReader(buffer, rules: rules, manifest: file.name)
      case .combined: AccessLogReader(buffer, file, index: index, of: manifest, counter: context.counter())
      }
  }

  /// What opening needs beside the file.
  struct Context {
    /// Counts the requests of all files of its manifest.
    var counter: () -> RequestCounter
    /// Where the input is of a file that was fetched.
    var fetched: FetchedManifest?
  }

  /// Whether the offsets of rows are places in the file, which can be read again.
  var isPlainFile: Bool { buffer?.isPlainFile ?? false }

  /// Bytes of the file that have been used up, about.
  var consumedBytes: UInt64 { buffer?.consumedBytes ?? 0 }

  /// Notes that no more rows come, and why, where the text broke off before its end.
  func end() {
    hasEnded = true
    do throws(ManifestError) {
      if let failure = buffer?.failure { throw failure.error(in: name) }
      try rows.checkEnd()
    } catch {
      failure = error
    }
  }

  /// Notes that no more rows come because of `error`.
  func fail(_ error: ManifestError) {
    hasEnded = true
    failure = failure ?? error
  }
}
