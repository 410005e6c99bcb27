import Platform
import Base

extension ImageCache {
  /// Writes all images, expired ones too, to files of `directory`, which is created if it doesn't exist, and verifies each by its
  /// checksum.
  ///
  /// Images stored meanwhile may be missing. A file appears completely or not at all, in place of an existing one, but isn't
  /// synced; its mode comes from the umask, and its modification time is when the image was stored. Links below `directory`
  /// aren't followed. Of images with one path, such as variants of a URL, the one stored last is kept. Images of URLs with
  /// credentials are skipped: the cache has masked them, so no app would find the file.
  ///
  /// - Throws: `cannotExport` if the folder isn't writable or is full, `linkInExport` if a link is in the way; earlier files are
  ///   kept.
  @discardableResult
  package func export(to directory: String, layout: ExportLayout) throws(CacheError) -> ExportResult {
    try export(to: directory, layout: layout) { _ in }
  }

  /// The same for originals or transformed images; calls `onEntry` with the result for each. If `removesOthers`, called at the
  /// end, returns true, files are removed that an export with this layout could have written, but this one didn't.
  @discardableResult
  package func export(
    to directory: String,
    layout: ExportLayout,
    names: NamePattern? = nil,
    images: ExportedImages = .original,
    onEntry: (ExportEvent) -> Void,
    removesOthers: (ExportResult) -> Bool = { _ in false }
  ) throws(CacheError) -> ExportResult {
    var run = try ExportRun(self, to: directory, layout, names)
    try forEachEntry { (record) throws(CacheError) in
      switch images {
      case .original where record.isTransformed: run.emit(.skipped(url: record.shownURL, reason: .transformed), onEntry)
      case .transformed where !record.isTransformed: break
      case .original, .transformed: try run.take(record, onEntry)
      }
    }
    if removesOthers(run.result) { try run.removeOthers(onEntry) }
    return run.result
  }

  /// Writes these images, as ``export(to:layout:images:onEntry:removesOthers:)`` does for a whole cache. Images that aren't cached are
  /// counted, and their files of earlier exports are kept.
  @discardableResult
  package func export(
    _ images: some Sequence<FlatImage>,
    to directory: String,
    layout: ExportLayout,
    names: NamePattern? = nil,
    onEntry: (ExportEvent) -> Void = { _ in },
    removesOthers: (ExportResult) -> Bool = { _ in false }
  ) throws(CacheError) -> ExportResult {
    var run = try ExportRun(self, to: directory, layout, names)
    for image in images {
      if let record = try entry(identity: image.identity) {
        try run.take(record, id: image.id, onEntry)
      } else {
        run.spare(image)
      }
    }
    if removesOthers(run.result) { try run.removeOthers(onEntry) }
    return run.result
  }
}

/// A running export and the files it has written, about 60 bytes for each.
private struct ExportRun: ~Copyable {
  private let cache: ImageCache
  private let layout: ExportLayout
  /// Names files instead of the layout.
  private let names: NamePattern?
  private var folder: ExportFolder
  private var owners: [CacheKey: (entry: CacheKey, storedAt: Timestamp)] = [:]
  /// Paths of images that are damaged or aren't cached, without extension; their previously exported files are kept.
  private var spared: Set<CacheKey> = []
  private var missing: Set<CacheKey> = []
  private(set) var result = ExportResult()

  init(_ cache: ImageCache, to directory: String, _ layout: ExportLayout, _ names: NamePattern?) throws(CacheError) {
    self.names = names
    self.cache = cache
    self.layout = layout
    folder = try ExportFolder(path: directory)
  }

  /// Counts an image that isn't cached, once. Its file, if there is one, may have the extension of any format.
  mutating func spare(_ image: FlatImage) {
    guard missing.insert(CacheKey(identity: image.identity)).inserted else { return }
    result.missing += 1
    if let name = ExportName(image.url, nil, layout, nil) { spared.insert(CacheKey(path: name.stem)) }
  }

  mutating func emit(_ event: ExportEvent, _ onEntry: (ExportEvent) -> Void) {
    result.count(event)
    onEntry(event)
  }

  /// Exports an entry, unless it was removed meanwhile or was exported before.
  mutating func take(_ record: EntryRecord, id: String? = nil, _ onEntry: (ExportEvent) -> Void) throws(CacheError) {
    let url = record.shownURL
    if url.withUnsafeBytes(hasCredentials) { return emit(.skipped(url: url, reason: .hasCredentials), onEntry) }
    guard var name = ExportName(url, record, layout, names, id: id) else {
      throw .cannotExport(path: folder.path, reason: "libcrypto refuses to compute MD5, as in FIPS mode")
    }
    var path = CacheKey(path: name.path)
    var owner = owners[path]
    if owner?.entry == record.key { return }
    if let names {
      if let other = owner, try cache.shownURL(of: other.entry) != url {
        name = name.unique(url)
        path = CacheKey(path: name.path)
        owner = owners[path]
        if owner?.entry == record.key { return }
        result.renamed += 1
      }
      if names.usesIDs, id?.isEmpty ?? true { result.withoutID += 1 }
    }
    guard let (record, body) = try cache.currentBody(of: record) else { return }
    let bytes: [UInt8]
    switch body {
    case .bytes(let intact): bytes = intact
    case .damaged(let damage):
      spared.insert(CacheKey(path: name.stem))
      return emit(.skipped(url: url, reason: .damaged(damage)), onEntry)
    }
    let storedAt = record.head.storedAt
    if let owner, owner.storedAt >= storedAt {
      let other = try cache.shownURL(of: owner.entry)
      return emit(Self.event(of: url, behind: other, name), onEntry)
    }
    let replaced = owner == nil ? 0 : try folder.byteCount(of: name.folders, name.file)
    try folder.write(bytes, folders: name.folders, file: name.file, storedAt: storedAt)
    owners[path] = (record.key, storedAt)
    emit(.exported(url: url, id: id, file: name.path, bytes: bytes.count), onEntry)
    guard let owner else { return }
    result.exported -= 1
    result.bytes -= replaced
    if let other = try cache.shownURL(of: owner.entry) { emit(Self.event(of: other, behind: url, name), onEntry) }
  }

  /// The event for an image with the same path as a newer one.
  private static func event(of url: [UInt8], behind other: [UInt8]?, _ name: ExportName) -> ExportEvent {
    guard let other, other != url else { return .skipped(url: url, reason: .superseded) }
    return .skipped(url: url, reason: .collision(with: other, file: name.path))
  }

  /// Removes files that this layout could have written but this export didn't.
  mutating func removeOthers(_ onEntry: (ExportEvent) -> Void) throws(CacheError) {
    let (owners, spared) = (owners, spared)
    let removed = try folder.removeFiles(layout) { path in
      owners[CacheKey(path: path)] == nil && !spared.contains(CacheKey(path: ExportName.stem(of: path)))
    }
    for path in removed { emit(.removed(file: path), onEntry) }
  }
}

/// The path of an image in the target folder.
private struct ExportName {
  let folders: [String]
  let file: String

  var path: String { (folders + [file]).joined(separator: "/") }
  var stem: String { Self.stem(of: path) }

  /// The path without an image's extension.
  static func stem(of path: String) -> String {
    guard let dot = path.lastIndex(of: "."), ImageFormat(fileExtension: path[path.index(after: dot)...]) != nil else {
      return path
    }
    return String(path[..<dot])
  }

  /// The name of a URL's image by the pattern, or by the layout; `record` is that of the image if it is cached. Nil if MD5 can't be
  /// computed.
  init?(_ url: [UInt8], _ record: EntryRecord?, _ layout: ExportLayout, _ pattern: NamePattern?, id: String? = nil) {
    // The URL's extension names the original format rather than that of the resized image.
    let transformedFormat = record?.isTransformed == true ? record?.format : nil
    let name = url.withUnsafeBytes { url -> (folders: [String], file: String)? in
      guard let digits = AppFileName.digits(of: url) else { return nil }
      if let pattern { return pattern.name(url, digits: digits, id: id, format: record?.format, transformedFormat) }
      switch layout {
      case .sdwebimage(withExtension: false): return ([], digits)
      case .sdwebimage(withExtension: true): return ([], AppFileName.nameWithExtension(digits, url))
      case .urlPath:
        let name = URLPathName(url: url, digits: digits, format: transformedFormat)
        return (name.folders, name.file)
      }
    }
    guard let name else { return nil }
    (folders, file) = name
  }

  private init(folders: [String], file: String) { (self.folders, self.file) = (folders, file) }

  /// The same with the hash of the URL before the extension.
  func unique(_ url: [UInt8]) -> ExportName {
    let digits = url.withUnsafeBytes(AppFileName.digits) ?? ""
    let stem = Self.stem(of: file)
    return ExportName(folders: folders, file: "\(stem)~\(digits)\(file.dropFirst(stem.count))")
  }
}

extension CacheKey {
  fileprivate init(path: String) { self.init(identity: Array(path.utf8)) }
}

extension ImageCache {
  /// The URL of an entry as first written; nil if the entry was removed.
  fileprivate func shownURL(of key: CacheKey) throws(CacheError) -> [UInt8]? {
    try environment.read { (transaction) throws(CacheError) in try transaction.entry(key).map { Array($0.url) } }
  }
}

/// The images of a cache that an export writes.
package enum ExportedImages: Sendable, Hashable {
  /// Images as received.
  case original
  /// Images that a transformer made, such as resized ones (``EntryRecord/isTransformed``).
  case transformed
}

public enum ExportLayout: Sendable, Hashable {
  /// SDWebImage's names: in one folder, MD5 of the URL as first written in 32 lower-case hexadecimal digits. Every version of
  /// SDWebImage finds names without extension in a read-only cache path. Names with extension equal SDWebImage's own: they have
  /// the extension of the URL's path, omitted above 222 characters.
  case sdwebimage(withExtension: Bool)
  /// The URL's path: `host/path…`, for serving the folder directly. Parts that such a name can't represent, such as a query, are
  /// replaced by 32 digits before the extension: MD5 of the URL. A transformed image has its own format's extension: `a.jpg`
  /// becomes `a.webp`.
  case urlPath
}

/// The result for one entry of an export, or for a file of its folder.
package enum ExportEvent: Sendable, Hashable {
  /// It was written to that file, relative to the folder.
  case exported(url: [UInt8], id: String?, file: String, bytes: Int)
  case skipped(url: [UInt8], reason: SkipReason)
  case removed(file: String)

  package enum SkipReason: Sendable, Hashable {
    case damaged(CachedBody.Damage)
    case hasCredentials
    case superseded
    case collision(with: [UInt8], file: String)
    case transformed
  }
}

public struct ExportResult: Sendable, Hashable {
  public var exported = 0
  /// Their size in bytes.
  public var bytes = 0
  /// Images skipped because they are damaged.
  public var damaged = 0
  /// Images skipped because their URL has credentials.
  public var withCredentials = 0
  /// Images skipped because a newer one of the same URL was exported.
  public var superseded = 0
  /// Images skipped because a newer one of another URL has the same path.
  public var collisions = 0
  /// Images skipped because a transformer made them.
  public var transformed = 0
  /// Identities that aren't cached.
  public var missing = 0
  /// Images whose name by the pattern another URL had, so that it got a hash.
  public var renamed = 0
  /// Images named by their hash, since their list has no identifier.
  public var withoutID = 0
  /// Files of earlier exports that were removed.
  public var removed = 0

  public init() {}

  mutating func count(_ event: ExportEvent) {
    switch event {
    case .exported(_, _, _, let size):
      exported += 1
      bytes += size
    case .removed: removed += 1
    case .skipped(_, .damaged): damaged += 1
    case .skipped(_, .hasCredentials): withCredentials += 1
    case .skipped(_, .superseded): superseded += 1
    case .skipped(_, .collision): collisions += 1
    case .skipped(_, .transformed): transformed += 1
    }
  }
}
