public import Base

/// An additional cache for look-ups, which is never changed.
public struct ReadOnlyCache: Sendable {
  package enum Store: Sendable {
    case cache(ImageCache)
    case folder(FlatFolder)
  }

  package let store: Store

  /// Looks in `cache`, whose rules decide what is fresh.
  public init(_ cache: ImageCache) { store = .cache(cache) }

  /// Opens the cache at `path`: a folder with the subfolder `namespace`, the folder of a namespace, or a flat folder.
  ///
  /// Its images don't expire by age unless `maxAge` is given, since nothing renews them. Throws `missing` if nothing is there, or
  /// only other namespaces; the errors of ``ImageCache/init(_:)`` for a cache that can't be opened; and `cannotOpen`.
  public init(opening path: String, namespace: String, maxAge: Duration? = nil, time: TimeSource = .system) throws(CacheError) {
    let folder = try CacheFolder(reading: path)
    func open(_ directory: String, _ namespace: String) throws(CacheError) -> Store {
      .cache(
        try ImageCache(
          ImageCache.Configuration(directory: directory, namespace: namespace, access: .readOnly, maxAge: maxAge, time: time)
        )
      )
    }
    if folder.holdsIndex(in: namespace) {
      store = try open(path, namespace)
    } else if folder.holdsIndex(in: ".") {
      // Open the namespace's folder as `.`, since the path may be a link to a folder with another name.
      store = try open(path, ".")
    } else {
      if try folder.holdsOnlyNamespaces() { throw .missing(path: "\(path)/\(namespace)") }
      store = .folder(try FlatFolder(path: path))
    }
  }

  public var path: String {
    switch store {
    case .cache(let cache): cache.path
    case .folder(let folder): folder.path
    }
  }
}

extension ImageCache {
  /// The namespaces in a folder of caches, sorted, of any version; empty if there is no such folder.
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
      return true
    }
    return names.sorted()
  }
}

extension CacheFolder {
  /// Whether the subfolder `name` holds a cache, of any version.
  fileprivate func holdsIndex(in name: String) -> Bool {
    let hasMarks = contains("\(name)/\(FolderMarks.versionName)") && contains("\(name)/\(FolderMarks.tagName)")
    return hasMarks || contains("\(name)/\(Self.indexName)")
  }

  /// Whether this folder contains only namespaces, at least one.
  fileprivate func holdsOnlyNamespaces() throws(CacheError) -> Bool {
    var (namespaces, others) = (0, 0)
    try forEachFile(in: ".") { name throws(CacheError) in
      if holdsIndex(in: name) { namespaces += 1 } else { others += 1 }
      return others == 0
    }
    return namespaces > 0 && others == 0
  }
}
