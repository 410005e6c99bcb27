package import Base

/// One image to fetch: its URL, options and position in the queue.
package struct Download: Sendable {
  /// The caller's number, carried by all its events; unique among the unfinished downloads of one ``DownloadClient``.
  package var id: UInt64
  /// The normalised URL in ASCII bytes. Its userinfo, if any, is sent as Basic credentials to its own host only. If an
  /// ``ImageLoader`` handles the URL: whatever that loader understands.
  package var requestURL: [UInt8]
  /// The class: downloads of a higher one start first.
  package var priority: LoadPriority
  /// The position within the class: lower ones start first; equal ones in the order of submission.
  package var sequence: Int64
  /// The options, prepared for use.
  package var prepared: PreparedOptions
  /// The validators of the caller's copy, sent as `If-None-Match` and `If-Modified-Since` (RFC 9110, section 13.1) on each hop at the
  /// download's own origin. A 304 then ends it with ``DownloadEvent/notModified(id:_:)``. If nil (the default), a 304 is an
  /// unacceptable status like any other.
  package var validators: Validators?
  /// Whether ``DownloadEvent/started(id:)``, ``DownloadEvent/response(id:_:)``, ``DownloadEvent/retrying(id:_:after:)`` and
  /// ``DownloadEvent/progress(id:received:expected:)`` are sent; false by default.
  package var wantsProgress: Bool
  /// The minimum time between two progress reports, except before the last. With zero, the default, there is at most one report per
  /// iteration of the transfer thread.
  package var progressInterval: Duration
  /// Whether ``TransferSummary/details`` is filled; false by default.
  package var wantsDetails: Bool

  /// Creates a download of `requestURL`.
  package init(
    id: UInt64,
    requestURL: [UInt8],
    priority: LoadPriority = .normal,
    sequence: Int64 = 0,
    options prepared: PreparedOptions,
    validators: Validators? = nil,
    wantsProgress: Bool = false,
    progressInterval: Duration = .zero,
    wantsDetails: Bool = false
  ) {
    self.id = id
    self.requestURL = requestURL
    self.priority = priority
    self.sequence = sequence
    self.prepared = prepared
    self.validators = validators
    self.wantsProgress = wantsProgress
    self.progressInterval = progressInterval
    self.wantsDetails = wantsDetails
  }

  /// The options as the caller gave them.
  // Without a copy, which would retain each part.
  package var options: DownloadOptions { _read { yield prepared.options } }
}

/// The order in which downloads of one class start.
public enum DownloadOrder: Sendable {
  /// First in, first out.
  case fifo
  /// Last in, first out.
  case lifo

  /// The ``Download/sequence`` of the download that was submitted as number `arrival`.
  package func sequence(ofArrival arrival: Int64) -> Int64 { self == .fifo ? arrival : -arrival }
}
