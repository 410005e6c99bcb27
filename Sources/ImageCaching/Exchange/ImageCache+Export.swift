import Glibc
import ImagePrimitives

extension ImageCache {
  /// Writes images to files of `directory`, which is created if it doesn't exist, and calls `onEntry` with what became of each.
  ///
  /// Images are read a page at a time, each checked against its sum, beside whoever writes to the cache meanwhile: an image stored
  /// later may be missing, one replaced meanwhile is exported as it is then. Expired images are exported too.
  ///
  /// Existing files are replaced. A file is there whole or not at all, but is not synced to the disk; it gets the mode that the
  /// umask says, and as its time of modification that at which the image was stored. Symbolic links below `directory` are not
  /// followed. If several images have one path, as variants of a URL do, the one stored last stays. Images of URLs with credentials
  /// are skipped: the cache has masked them, and no app would find the file.
  ///
  /// - Parameters:
  ///   - images: which of them; by default those that came as their URLs name them, not resized ones.
  ///   - removesOthers: asked at the end; true removes the files of `directory` that an export would write and this one did not.
  ///     Only image files count that are named as `layout` names them, with ``ExportLayout/urlPath`` in folders that name a host.
  /// - Throws: `cannotExport` if the folder cannot be written or is full, `linkInExport` if a link is in the way; files exported before
  ///   stay. Throws if the cache cannot be read.
  @discardableResult
  public func export(
    to directory: String,
    layout: ExportLayout,
    images: ExportedImages = .original,
    onEntry: (ExportEvent) -> Void = { _ in },
    removesOthers: (ExportResult) -> Bool = { _ in false }
  ) throws(CacheError) -> ExportResult {
    var run = try ExportRun(self, to: directory, layout)
    try forEachEntry { (record) throws(CacheError) in
      switch images {
      case .original where record.isTransformed: run.skip(record, .transformed, onEntry)
      case .transformed where !record.isTransformed: break
      case .original, .transformed: try run.take(record, onEntry)
      }
    }
    if removesOthers(run.result) { try run.removeOthers(onEntry) }
    return run.result
  }

  /// Writes the images of these identities, as ``export(to:layout:images:onEntry:removesOthers:)`` writes those of a whole cache; an identity
  /// that is not cached is counted.
  @discardableResult
  public func export(
    identities: some Sequence<[UInt8]>,
    to directory: String,
    layout: ExportLayout,
    onEntry: (ExportEvent) -> Void = { _ in },
    removesOthers: (ExportResult) -> Bool = { _ in false }
  ) throws(CacheError) -> ExportResult {
    var run = try ExportRun(self, to: directory, layout)
    for identity in identities {
      let record = try identity.withRawBytes { (identity) throws(CacheError) in
        try entry(CacheKey(identity: identity), identity: identity)
      }
      if let record { try run.take(record, onEntry) } else { run.countMissing() }
    }
    if removesOthers(run.result) { try run.removeOthers(onEntry) }
    return run.result
  }
}

/// An export under way: what it has written where, some 60 bytes for each file.
private struct ExportRun: ~Copyable {
  private struct Owner {
    /// The entry whose image the file holds.
    let entry: CacheKey
    let storedAt: Timestamp
  }

  private let cache: ImageCache
  private let layout: ExportLayout
  private var folder: ExportFolder
  /// The files written so far, by the keys of their paths.
  private var owners: [CacheKey: Owner] = [:]
  /// Paths of damaged images, whose files of an earlier export stay.
  private var spared: Set<CacheKey> = []
  private(set) var result = ExportResult()

  init(_ cache: ImageCache, to directory: String, _ layout: ExportLayout) throws(CacheError) {
    self.cache = cache
    self.layout = layout
    folder = try ExportFolder(path: directory)
  }

  mutating func countMissing() { result.missing += 1 }

  mutating func skip(_ record: EntryRecord, _ reason: ExportEvent.SkipReason, _ onEntry: (ExportEvent) -> Void) {
    emit(.skipped(url: record.shownURL, reason: reason), onEntry)
  }

  private mutating func emit(_ event: ExportEvent, _ onEntry: (ExportEvent) -> Void) {
    result.count(event)
    onEntry(event)
  }

  /// Exports one entry, unless it is gone by now or was exported before.
  mutating func take(_ record: EntryRecord, _ onEntry: (ExportEvent) -> Void) throws(CacheError) {
    if record.shownURL.withUnsafeBytes(hasCredentials) { return skip(record, .hasCredentials, onEntry) }
    guard let name = ExportName(record, layout) else {
      throw .cannotExport(path: folder.path, reason: "libcrypto does not compute MD5 here, as in FIPS mode")
    }
    let path = CacheKey(path: name.path)
    let owner = owners[path]
    if owner?.entry == record.key { return }
    guard let (record, body) = try cache.currentBody(of: record) else { return }
    guard case .bytes(let bytes) = body else {
      guard case .damaged(let damage) = body else { return }
      spared.insert(path)
      return skip(record, .damaged(damage), onEntry)
    }
    let storedAt = record.head.storedAt
    if let owner, owner.storedAt >= storedAt {
      let other = try cache.shownURL(of: owner.entry)
      return emit(Self.event(of: record.shownURL, behind: other, name), onEntry)
    }
    let replaced = owner == nil ? 0 : folder.byteCount(of: name.folders, name.file)
    try folder.write(bytes, folders: name.folders, file: name.file, storedAt: storedAt)
    owners[path] = Owner(entry: record.key, storedAt: storedAt)
    emit(.exported(url: record.shownURL, file: name.path, bytes: bytes.count), onEntry)
    guard let owner else { return }
    result.exported -= 1
    result.bytes -= replaced
    if let other = try cache.shownURL(of: owner.entry) { emit(Self.event(of: other, behind: record.shownURL, name), onEntry) }
  }

  /// What became of an image that has the same path as a newer one.
  private static func event(of url: [UInt8], behind other: [UInt8]?, _ name: ExportName) -> ExportEvent {
    guard let other, other != url else { return .skipped(url: url, reason: .superseded) }
    return .skipped(url: url, reason: .collision(with: other, file: name.path))
  }

  /// Removes the files that this layout would write and this export did not.
  mutating func removeOthers(_ onEntry: (ExportEvent) -> Void) throws(CacheError) {
    let (owners, spared) = (owners, spared)
    var removed: [ExportEvent] = []
    try folder.removeFiles(layout) { path in
      let key = CacheKey(path: path)
      return owners[key] == nil && !spared.contains(key)
    } onRemoved: { path in
      removed.append(.removed(file: path))
    }
    for event in removed { emit(event, onEntry) }
  }
}

/// Where an image goes, below the folder of the export.
private struct ExportName {
  let folders: [String]
  let file: String

  var path: String { (folders + [file]).joined(separator: "/") }

  /// nil if MD5 cannot be computed.
  init?(_ record: EntryRecord, _ layout: ExportLayout) {
    let name = record.shownURL.withUnsafeBytes { url -> (folders: [String], file: String)? in
      switch layout {
      case .sdwebimage(withExtension: false): return AppFileName.digits(of: url).map { ([], $0) }
      case .sdwebimage(withExtension: true): return AppFileName.nameWithExtension(forURL: url).map { ([], $0) }
      case .urlPath:
        guard let digits = AppFileName.digits(of: url) else { return nil }
        // The URL names the format in which an image came, not that in which it was resized.
        let name = URLPathName(url: url, digits: digits, format: record.isTransformed ? record.head.format : nil)
        return (name.folders, name.file)
      }
    }
    guard let name else { return nil }
    (folders, file) = name
  }
}

extension CacheKey {
  fileprivate init(path: String) { self = Array(path.utf8).withUnsafeBytes { CacheKey(identity: $0) } }
}

extension ImageCache {
  /// The URL of an entry as it was first written; nil if the entry is gone.
  fileprivate func shownURL(of key: CacheKey) throws(CacheError) -> [UInt8]? {
    try read { (reader) throws(CacheError) in try reader.entry(key).map { Array($0.url) } }
  }
}

/// Which images of a cache an export writes.
public enum ExportedImages: Sendable, Hashable {
  /// Those that are stored as they came.
  case original
  /// Those that were made of others, by resizing or another transformer (``EntryRecord/isTransformed``).
  case transformed
}

/// How exported files are named.
public enum ExportLayout: Sendable, Hashable {
  /// As SDWebImage names them: flat, MD5 of the URL as first written in 32 lower-case hexadecimal digits.
  ///
  /// Without extension, every version of SDWebImage finds them in a read-only cache path. With it, they are named as it names its
  /// own files: by the extension of the URL's path, left out above 222 characters.
  case sdwebimage(withExtension: Bool)
  /// As the URL says: `host/path…`, for serving the folder as it is. What such a name cannot tell, a query among it, is told by 32 digits
  /// before the extension: MD5 of the URL. A transformed image has the extension of its own format: `a.jpg` becomes `a.webp`.
  case urlPath
}

/// What became of one entry of an export, or of a file of its folder.
public enum ExportEvent: Sendable, Hashable {
  /// It was written to that file of the folder.
  case exported(url: [UInt8], file: String, bytes: Int)
  /// It was left out.
  case skipped(url: [UInt8], reason: SkipReason)
  /// A file of an earlier export was removed.
  case removed(file: String)

  /// Why an entry was left out.
  public enum SkipReason: Sendable, Hashable {
    /// Its body is not as it was stored, or gone.
    case damaged(CachedBody.Damage)
    /// Its URL has credentials, which the cache does not know, and without which nobody asks for it.
    case hasCredentials
    /// A newer image of the same URL was exported.
    case superseded
    /// A newer image of another URL has the same path.
    case collision(with: [UInt8], file: String)
    /// It is what a transformer made of the image, and originals were asked for.
    case transformed
  }
}

/// What an export did.
public struct ExportResult: Sendable, Hashable {
  /// Files that were written.
  public var exported = 0
  /// Bytes of all of them.
  public var bytes = 0
  /// Images left out because they are damaged.
  public var damaged = 0
  /// Images left out because their URL has credentials.
  public var withCredentials = 0
  /// Images left out because a newer one of the same URL was exported.
  public var superseded = 0
  /// Images left out because a newer one of another URL has the same path.
  public var collisions = 0
  /// Images left out because a transformer made them.
  public var transformed = 0
  /// Identities that are not cached.
  public var missing = 0
  /// Files of earlier exports that were removed.
  public var removed = 0

  /// Nothing exported.
  public init() {}

  mutating func count(_ event: ExportEvent) {
    switch event {
    case .exported(_, _, let size):
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
