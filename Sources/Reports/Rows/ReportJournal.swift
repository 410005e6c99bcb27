public import ImagePrimitives

/// A report that grows with the run: a row for each entry.
public protocol ReportJournal: AnyObject {
  /// The run begins: what an older report left makes way; an error is kept for ``flush()``.
  func begin()

  /// A manifest was added; its index is the number of those added before, `file` what ``ManifestSummary/file`` says.
  func addManifest(_ path: String, file: String?)

  /// A way to ask was added; its number is 1 and that of those added before.
  func addVariant(_ variant: ReportedVariant)

  /// Writes the row of an entry, now or with the next flush; an error is kept for ``flush()``.
  ///
  /// - Parameter standing: whether a failed or blacklisted entry counts in the verdict; ``FailureStanding/counts`` for all others.
  func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding)

  /// Writes all rows so far; throws the first error that was met, now or before, and again each time.
  func flush() throws(ReportError)
}
