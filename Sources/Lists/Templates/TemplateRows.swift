import Base

/// Rows of another reader with the URLs that a template makes from theirs, and with signatures.
///
/// A row becomes as many as the template has combinations. Rows without a valid URL stay as they are.
final class TemplateRows: RowReader {
  private static let shownBytes = 256

  private let inner: any RowReader
  private let template: URLTemplate
  private let signer: URLSigner?
  private let base: BaseURL?
  /// Whether the images are others than those of the inner rows.
  private let makesOtherImages: Bool
  private let normalizer = URLNormalizer()
  /// The notes of rows that have none of their own, by combination.
  private let notes: [EntryNote?]

  /// The row that becomes others, and its next combination.
  private var pending: (row: Row, combination: Int)?
  /// The URL of the pending row in normal form, and after it that of the last row.
  private let text = GrowingBytes()
  private var sourceCount = 0
  private var sourceParts = URLParts.empty
  private var written: [UInt8] = []
  private var normalized: [UInt8] = []

  /// Creates rows whose URLs are resolved against `base`; without a template, they are only signed.
  init(_ inner: any RowReader, template: URLTemplate?, signer: URLSigner?, base: BaseURL?) {
    self.inner = inner
    self.signer = signer
    self.base = base
    makesOtherImages = template != nil
    let template = template ?? .identity
    self.template = template
    notes = template.expectations.map { $0.map { EntryNote(expectation: $0) } }
  }

  func readHeader() throws(InputError) -> Bool { try inner.readHeader() }
  func checkEnd() throws(InputError) { try inner.checkEnd() }
  var mayNamePriority: Bool { inner.mayNamePriority }
  var hasRowsByBytes: Bool { inner.hasRowsByBytes }
  var isSitemap: Bool { inner.isSitemap }
  var remarks: ReadingRemarks { inner.remarks }

  func next() -> RowStep {
    if pending == nil {
      let step = inner.next()
      guard case .row(var row) = step, row.problem == nil else { return step }
      row.problem = read(row)
      if row.problem != nil { return .row(row) }
      pending = (row, 0)
    }
    guard let (row, combination) = pending else { preconditionFailure("there is a pending row") }
    pending = combination + 1 < template.combinations ? (row, combination + 1) : nil
    return .row(made(combination, from: row))
  }

  /// Keeps the URL of a row in normal form; returns the reason if it has none.
  private func read(_ row: Row) -> String? {
    normalized.removeAll(keepingCapacity: true)
    do throws(InvalidURL) {
      sourceParts = try normalizer.normalize(row.url, relativeTo: base, into: &normalized)
    } catch {
      return error.message
    }
    if template.hasBase64, !sourceParts.userInfo.isEmpty {
      return "reports can't mask its user name and password in {url-base64}; remove them, or use {url-encoded}"
    }
    text.removeAll()
    normalized.withRawBytes { text.append($0) }
    sourceCount = text.count
    return nil
  }

  private func made(_ combination: Int, from row: Row) -> Row {
    var row = row
    if makesOtherImages { row.note = note(of: row, combination) }
    written.removeAll(keepingCapacity: true)
    normalized.removeAll(keepingCapacity: true)
    template.append(combination, of: text[0..<sourceCount], sourceParts, to: &written)
    row.problem = finish()
    text.removeAll(from: sourceCount)
    if row.problem == nil {
      normalized.withRawBytes { text.append($0) }
    } else {
      written.withRawBytes { text.append(UnsafeRawBufferPointer(rebasing: $0.prefix(Self.shownBytes))) }
    }
    // Appending may have moved the bytes.
    row.original = text[0..<sourceCount]
    row.url = text[sourceCount..<text.count]
    return row
  }

  /// Makes the URL in normal form, and signs it; returns the reason if that isn't possible.
  private func finish() -> String? {
    let parts: URLParts
    do throws(InvalidURL) {
      parts = try written.withRawBytes { written throws(InvalidURL) in
        try normalizer.normalize(written, relativeTo: base, into: &normalized)
      }
    } catch {
      return "the template makes an invalid URL: \(error.message)"
    }
    do throws(UnsignableURL) {
      try signer?.sign(&normalized, parts, hasPlaceholder: template.hasSignature)
    } catch {
      return "the URL can't be signed: \(error.message)"
    }
    return nil
  }

  /// What the list and the page say about the image is about the original.
  private func note(of row: Row, _ combination: Int) -> EntryNote? {
    guard let note = row.note, note.id != nil || note.origin != nil || note.modified != nil else { return notes[combination] }
    return EntryNote(
      id: note.id,
      origin: note.origin,
      pages: note.pages,
      expectation: template.expectations[combination],
      modified: note.modified
    )
  }
}
