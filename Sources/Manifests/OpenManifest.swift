/// A manifest's file while it is read.
final class OpenManifest {
  let rows: any RowReader
  let input: InputDescriptor?
  private let buffer: InputBuffer?
  private let name: String

  /// The input is nil for an inline list only.
  init(_ file: ManifestFile, of manifest: Manifest, input: InputDescriptor?) {
    self.input = input
    name = file.name
    buffer = input.map { InputBuffer(InputStream($0)) }
    if case .inline(let entries) = manifest.source {
      rows = InlineReader(entries)
      return
    }
    guard let buffer else { preconditionFailure("a file is read without being opened") }
    rows =
      switch manifest.format(of: file.place) {
      case .auto, .text: TextReader(buffer)
      case .csv: CSVReader(buffer, delimiter: UInt8(ascii: ","), columns: manifest.columns, manifest: file.name)
      case .tsv: CSVReader(buffer, delimiter: UInt8(ascii: "\t"), columns: manifest.columns, manifest: file.name)
      case .jsonl: JSONLinesReader(buffer, columns: manifest.columns)
      }
  }

  /// Whether the offsets of rows are places in the file, which can be read again.
  var isPlainFile: Bool { buffer?.isPlainFile ?? false }

  /// Bytes of the file that have been used up, about.
  var consumedBytes: UInt64 { buffer?.consumedBytes ?? 0 }

  /// Throws where the text broke off before its end; to be asked once the rows have ended.
  func checkEnd() throws(ManifestError) {
    if let failure = buffer?.failure { throw failure.error(in: name) }
  }
}
