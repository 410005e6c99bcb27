public import ImagePrimitives

/// A further cache to look in, after the one that is written: nothing in it is ever changed.
public enum ReadOnlyCache: Sendable {
  /// Another cache of prewarm.
  case cache(ImageCache)
  /// A folder of files named as SDWebImage names them.
  case folder(FlatFolder)

  /// Opens what is at `path`: a cache with the folder `namespace` in it; or the folder of one namespace; or else a flat folder.
  ///
  /// What is in it never expires by age unless `maxAge` says so, since nobody renews it. Throws `missing` where nothing is there,
  /// or only other namespaces; what ``ImageCache/init(_:)`` throws for a cache that cannot be opened; and `cannotOpen`.
  public init(opening path: String, namespace: String, maxAge: Duration? = nil, time: TimeSource = .system) throws(CacheError) {
    let folder = try CacheFolder(reading: path)
    func open(_ directory: String, _ namespace: String) throws(CacheError) -> ReadOnlyCache {
      .cache(
        try ImageCache(
          ImageCache.Configuration(directory: directory, namespace: namespace, access: .readOnly, maxAge: maxAge, time: time)
        )
      )
    }
    if folder.holdsIndex(in: namespace) {
      self = try open(path, namespace)
    } else if folder.holdsIndex(in: ".") {
      // The namespace's own folder: opened as itself, since the path may be a link to a folder of another name.
      self = try open(path, ".")
    } else {
      if try folder.holdsOnlyNamespaces() { throw .missing(path: "\(path)/\(namespace)") }
      self = .folder(try FlatFolder(path: path))
    }
  }

  /// The folder.
  public var path: String {
    switch self {
    case .cache(let cache): cache.path
    case .folder(let folder): folder.path
    }
  }

  /// The image of an identity, or of a URL as it was first written; nil where it has none that is fresh and whole.
  ///
  /// A cache is asked by identity, a flat folder by URL. Where the image depends on headers of the request
  /// (``EntryHead/hasVary``), it is for the caller to compare them. A file of a flat folder that cannot be opened counts as none.
  /// Throws where the disk fails, or a file has more than `maximumBytes`.
  public func image(
    identity: UnsafeRawBufferPointer,
    url: UnsafeRawBufferPointer,
    maximumBytes: Int
  ) throws(CacheError) -> ReadOnlyImage? {
    switch self {
    case .folder(let folder):
      return try folder.body(ofURL: url, maximumBytes: maximumBytes).map { ReadOnlyImage(bytes: $0, head: nil) }
    case .cache(let cache):
      let key = CacheKey(identity: identity)
      let found = try cache.read { (reader) throws(CacheError) in try reader.lookUp(key, identity: identity) }
      guard case .fresh(let head) = found, case .bytes(let bytes) = try cache.body(of: key, identity: identity, as: head)
      else { return nil }
      return ReadOnlyImage(bytes: bytes, head: head)
    }
  }
}

/// An image of a cache that is only read.
public struct ReadOnlyImage: Sendable, Hashable {
  /// Its bytes. Those of a cache have their record's checksum; those of a flat folder are proven by nobody.
  public let bytes: [UInt8]
  /// What the record says; nil for a flat folder.
  public let head: EntryHead?
}

extension Sequence<ReadOnlyCache> {
  /// The image of the first of these caches that has it; nil where none has. Throws as
  /// ``ReadOnlyCache/image(identity:url:maximumBytes:)``.
  public func firstImage(
    identity: UnsafeRawBufferPointer,
    url: UnsafeRawBufferPointer,
    maximumBytes: Int
  ) throws(CacheError) -> ReadOnlyImage? {
    for cache in self {
      if let image = try cache.image(identity: identity, url: url, maximumBytes: maximumBytes) { return image }
    }
    return nil
  }
}

extension ImageCache {
  /// The namespaces in a folder of caches, sorted, of whatever version; none if there is no such folder.
  public static func namespaces(in directory: String) throws(CacheError) -> [String] {
    let folder: CacheFolder
    do throws(CacheError) {
      folder = try CacheFolder(reading: directory)
    } catch {
      if case .missing = error { return [] }
      throw error
    }
    var names: [String] = []
    try folder.forEachFile(in: ".") { name throws(CacheError) in
      if folder.holdsIndex(in: name) { names.append(name) }
    }
    return names.sorted()
  }
}

extension CacheFolder {
  /// Whether the folder `name` in this one holds a cache, of whatever version.
  fileprivate func holdsIndex(in name: String) -> Bool {
    let hasMarks = contains("\(name)/\(FolderMarks.versionName)") && contains("\(name)/\(FolderMarks.tagName)")
    return hasMarks || contains("\(name)/\(Self.indexName)")
  }

  /// Whether this is a folder of namespaces with nothing beside them.
  fileprivate func holdsOnlyNamespaces() throws(CacheError) -> Bool {
    var (namespaces, others) = (0, 0)
    try forEachFile(in: ".") { name throws(CacheError) in
      if holdsIndex(in: name) { namespaces += 1 } else { others += 1 }
    }
    return namespaces > 0 && others == 0
  }
}
