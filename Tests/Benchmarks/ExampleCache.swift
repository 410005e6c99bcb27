import ImageCaching
import Base

/// A cache of small images with the URLs of `ExampleURLs`.
struct ExampleCache {
  /// Enough to fill a few hundred pages of LMDB's tree.
  static let entries = 8_192
  /// The number of images stored in one transaction.
  static let batch = 256

  let cache: ImageCache
  private let image: [UInt8]
  private let checksum: Checksum

  /// Opens a new, empty cache in the folder `name`.
  init(_ name: String, in workspace: Workspace, time: TimeSource = .still) throws {
    cache = try ImageCache(.init(directory: workspace.path(name), maxAge: nil, time: time))
    image = try workspace.image("coarse.jpg")
    checksum = image.withRawBytes { ImageCaching.checksum(of: $0) }
  }

  static func filled(in workspace: Workspace) throws -> ImageCache {
    let example = try ExampleCache("filled", in: workspace)
    for first in stride(from: 0, to: entries, by: batch) { try example.store(ExampleURLs(first..<first + batch)) }
    return example.cache
  }

  /// Stores an image for each of the URLs in one transaction.
  func store(_ urls: ExampleURLs) throws {
    try cache.write { writer throws(CacheError) in
      try urls.forEach { url throws(CacheError) in
        let head = EntryHead(
          image: ImageProperties(format: .jpeg, width: 75, height: 50),
          proof: .header,
          contentTypeMatch: .exact,
          checksum: checksum
        )
        let bytes = Array(url)
        let fields = EntryFields(
          key: CacheKey(identity: url),
          head: head,
          identity: bytes,
          shownURL: bytes,
          validators: Validators(etag: "\"5f2b-1a\""),
          contentType: "image/jpeg"
        )
        try writer.store(fields, body: .bytes(image))
      }
    }
  }
}
