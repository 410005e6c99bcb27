/// Writes rows in pieces; after an error nothing more, so that a file never has a gap.
struct RowPieces {
  /// So many are gathered before they are written.
  static let bytes = 65_536

  /// The first error.
  private(set) var error: ReportError?

  /// Hands on what was gathered, and empties the buffer.
  mutating func write(_ buffer: inout OutputBuffer, _ body: (UnsafeRawBufferPointer) throws(ReportError) -> Void) {
    if error == nil {
      do throws(ReportError) {
        try buffer.withUnsafeBytes(body)
      } catch {
        self.error = error
      }
    }
    buffer.removeAll()
  }

  /// Notes an error that stands in the way of all that follows.
  mutating func fail(_ error: ReportError) { self.error = self.error ?? error }

  /// Throws the first error, again each time.
  func check() throws(ReportError) {
    if let error { throw error }
  }
}
