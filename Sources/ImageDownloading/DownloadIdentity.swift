import ImagePrimitives

/// What tells downloads apart whose results may differ; those of equal identity share a transfer.
struct DownloadIdentity: Hashable {
  private let url: [UInt8]
  private let validators: Validators?
  private let options: PreparedOptions
  /// Made once, since a table asks for it at each step of a download's life.
  private let hash: Int

  init(_ download: Download) {
    url = download.url
    validators = download.validators
    options = download.prepared
    var hasher = Hasher()
    url.withUnsafeBytes { hasher.combine(bytes: $0) }
    hasher.combine(options)
    if let validators { hasher.combine(validators) }
    hash = hasher.finalize()
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  static func == (left: DownloadIdentity, right: DownloadIdentity) -> Bool {
    left.hash == right.hash && left.url == right.url && left.validators == right.validators && left.options == right.options
  }
}
