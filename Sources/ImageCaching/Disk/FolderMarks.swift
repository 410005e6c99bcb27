import Glibc
import ImagePrimitives

/// The small files of a namespace that say what it is.
///
/// - `VERSION`: the number of the format. It is there before the index, so an index without it is of no known format.
/// - `CACHEDIR.TAG`: tells backup tools to pass the folder over (https://bford.info/cachedir/).
/// - `KEY`: 32 random bytes, mode 0600, under which credentials are hashed into identities.
enum FolderMarks {
  /// The one format that this program reads and writes: the layout of the folder and of every record.
  static let supportedVersion = 1
  static let versionName = "VERSION"
  static let tagName = "CACHEDIR.TAG"
  private static let keyName = "KEY"
  /// More than any of these files has.
  private static let byteLimit = 4096
  private static let tag = """
    Signature: 8a477f597d28d172789f06886806bc55
    # This folder is a cache of images made by prewarm; it can be deleted when no process uses it.

    """

  /// Checks the marks of a folder that shall be written, and makes those that are missing.
  static func prepare(_ folder: CacheFolder) throws(CacheError) {
    try checkVersion(of: folder)
    try create(versionName, Array("\(supportedVersion)\n".utf8), mode: 0o644, in: folder)
    try create(tagName, Array(tag.utf8), mode: 0o644, in: folder)
    try create(keyName, CredentialHasher.randomKey(), mode: 0o600, in: folder)
  }

  /// Throws where the folder has an index of another format than this program's; a folder without index and mark passes.
  static func checkVersion(of folder: CacheFolder) throws(CacheError) {
    guard let bytes = try contents(of: versionName, in: folder) else {
      guard folder.contains(CacheFolder.indexName) else { return }
      throw .wrongVersion(path: folder.path, found: nil, supported: supportedVersion)
    }
    let found = String(decoding: bytes.prefix(32).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    guard found == String(supportedVersion) else {
      throw .wrongVersion(path: folder.path, found: found, supported: supportedVersion)
    }
  }

  /// The folder's key; nil where there is none, or none that this user may read, which a folder for reading may do without.
  static func key(of folder: CacheFolder, access: ImageCache.Access) throws(CacheError) -> [UInt8]? {
    if access == .readOnly && !folder.mayRead(keyName) { return nil }
    guard let key = try contents(of: keyName, in: folder) else { return nil }
    guard key.count == CredentialHasher.keyByteCount else {
      throw .damaged(path: folder.path, reason: "KEY has \(key.count) bytes in place of \(CredentialHasher.keyByteCount)")
    }
    return key
  }

  private static func contents(of name: String, in folder: CacheFolder) throws(CacheError) -> [UInt8]? {
    guard let file = try folder.open(name, O_RDONLY) else { return nil }
    guard let bytes = readAll(file.number, limit: byteLimit) else {
      throw .cannotRead(path: folder.path(of: name), reason: errorSentence())
    }
    return bytes
  }

  /// Makes a file whole or not at all; of two processes that try at once, one wins and both go on with its bytes.
  private static func create(_ name: String, _ bytes: @autoclosure () -> [UInt8], mode: mode_t, in folder: CacheFolder)
    throws(CacheError)
  {
    if folder.contains(name) { return }
    let draft = "\(name).\(getpid())"
    try folder.remove(draft)
    guard let file = try folder.open(draft, O_WRONLY | O_CREAT | O_EXCL, mode: mode) else { throw folder.writeError(ENOENT) }
    let isWritten = bytes().withUnsafeBytes { writeAll($0, to: file.number) } && fsync(file.number) == 0
    let error = errno
    if isWritten { linkat(folder.descriptor.number, draft, folder.descriptor.number, name, 0) }
    try folder.remove(draft)
    if !isWritten { throw folder.writeError(error) }
    guard folder.contains(name) else { throw .cannotWrite(path: folder.path, reason: "\(name) cannot be made") }
  }
}
