package import ImageDownloading
import ImagePrimitives

/// One of several ways in which a context's images are asked for, each of which brings images of its own: other request headers, or another
/// server under the same host name.
package struct LoadVariant: Sendable, Hashable {
  /// What identities call its headers: `#variant=NAME`; nil: they are the plain ones. It holds no `#`.
  package var name: String?
  /// What identities call its server: `#edge=NAME`, in place of where it connects to; nil: it is the URL's own. It holds no `#`.
  package var edge: String?
  /// How its images are fetched, by the same method as the context's plain ones.
  package var download: DownloadOptions

  /// A variant of that name, from that edge.
  package init(name: String?, edge: String? = nil, download: DownloadOptions) {
    self.name = name
    self.edge = edge
    self.download = download
  }
}

/// What tells one variant's images from those of others: it goes behind the URL, which has no fragment in normal form.
struct VariantIdentity: Sendable {
  /// Whether there may be anything.
  let isAny: Bool
  private let suffix: [UInt8]
  private let isEdge: Bool
  private let connection: DownloadOptions.Connection

  /// A name with a `#` in it is a programmer's error and traps.
  init(_ variant: LoadVariant) {
    let names = [("variant", variant.name), ("edge", variant.edge)]
    trap(unless: !names.contains { $0.1?.utf8.contains(UInt8(ascii: "#")) ?? false }, "a variant's name may hold no '#'")
    suffix = Array(names.map { key, name in name.map { "#\(key)=\($0)" } ?? "" }.joined().utf8)
    isEdge = variant.edge != nil
    connection = variant.download.connection
    isAny = !suffix.isEmpty || !connection.connectTo.isEmpty
  }

  /// What goes behind the identity of `url`, a normalised one; nil where nothing does.
  func suffix(for url: UnsafeRawBufferPointer) -> [UInt8]? {
    if isEdge { return suffix }
    guard let target = connection.target(for: url) else { return suffix.isEmpty ? nil : suffix }
    return suffix + Array("#connect=".utf8) + target
  }
}
