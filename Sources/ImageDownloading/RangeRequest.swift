import ImagePrimitives

/// What makes a request one for a part of a body (RFC 9110, sections 13.1.5 and 14.2).
struct RangeRequest {
  /// The first request of each probe.
  static let first = RangeRequest(from: 0, to: DownloadOptions.probeBytes)

  private static let names = ["Range", "If-Range", "Accept-Encoding"]
  private let fields: [HeaderField]

  /// Asks for the bytes from `start` up to `end`, or to the last, or else for the whole body where `condition` no longer tells its version.
  /// Not coded: a range of a coded body is none of the image.
  init(from start: Int, to end: Int?, condition: String? = nil) {
    fields =
      [
        HeaderField("Range", "bytes=\(start)-\(end.map { String($0 - 1) } ?? "")"),
        HeaderField("Accept-Encoding", DownloadOptions.acceptEncoding),
      ] + (condition.map { [HeaderField("If-Range", $0)] } ?? [])
  }

  /// `headers` with its own, in place of any others of their names.
  func added(to headers: [HeaderField]) -> [HeaderField] {
    headers.filter { header in !Self.names.contains { $0.equalsIgnoringCase(header.name) } } + fields
  }
}
