import CLinux
import Glibc
import ImagePrimitives

/// The bodies above 256 KiB, a file each.
///
/// They arrive in `blobs/tmp` under a lock of their writer, and are moved to one of 256 folders inside the write transaction that
/// commits their record. So within a write transaction every file out there has its record, or nobody needs it.
struct BlobFolder {
  static let temporaryName = "blobs/tmp"
  private static let name = "blobs"

  let folder: CacheFolder

  init(_ folder: CacheFolder) { self.folder = folder }

  /// Makes the folders that must be there.
  func prepare() throws(CacheError) {
    try folder.makeFolder(Self.name)
    try folder.makeFolder(Self.temporaryName)
  }

  /// The folder of a number, below the cache's.
  static func folderName(_ number: UInt8) -> String {
    "\(name)/" + String(decoding: [hexadecimalDigit(number >> 4), hexadecimalDigit(number & 15)], as: UTF8.self)
  }

  /// The file of a body, below the cache's folder. The key in it finds the record that it belongs to.
  static func fileName(_ key: CacheKey, revision: UInt64, folder number: UInt8) -> String {
    "\(folderName(number))/\(digits(key.high))\(digits(key.low))-\(digits(revision))"
  }

  private static func digits(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Makes the folder of that number, lasting.
  func makeFolder(_ number: UInt8) throws(CacheError) {
    if try folder.makeFolder(Self.folderName(number)) { try folder.synchronize(Self.name) }
  }

  /// Removes what writers left behind that died: the temporary files that nobody has locked.
  func sweepTemporary() throws(CacheError) {
    try folder.forEachFile(in: Self.temporaryName) { name throws(CacheError) in
      let path = "\(Self.temporaryName)/\(name)"
      guard let file = try folder.open(path, O_RDONLY) else { return }
      if flock(file.number, LOCK_EX | LOCK_NB) == 0 { try folder.remove(path) }
    }
  }

  /// Removes the files of one folder that no record names, and returns how many; only within a write transaction.
  func sweep(_ number: UInt8, in transaction: WriteTransaction) throws(CacheError) -> Int {
    var count = 0
    try folder.forEachFile(in: Self.folderName(number)) { name throws(CacheError) in
      let path = "\(Self.folderName(number))/\(name)"
      if let key = Self.key(ofFile: name), let head = try transaction.entry(key)?.head, head.isBlob,
        Self.fileName(key, revision: head.revision, folder: head.blobFolder) == path
      {
        return
      }
      try folder.remove(path)
      count += 1
    }
    return count
  }

  private static func key(ofFile name: String) -> CacheKey? {
    guard name.utf8.count == 49, let high = UInt64(name.prefix(16), radix: 16),
      let low = UInt64(name.dropFirst(16).prefix(16), radix: 16)
    else { return nil }
    return CacheKey(high: high, low: low)
  }

  /// The bytes of a blob, cut off behind `size + 1`; nil where it is not there.
  func read(_ name: String, size: Int) throws(CacheError) -> [UInt8]? {
    guard let file = try folder.open(name, O_RDONLY) else { return nil }
    // A damaged record must not make us reserve what no file has.
    let limit = min(size, Int(file.status?.st_size ?? 0)) + 1
    guard let bytes = readAll(file.number, limit: limit) else {
      throw .cannotRead(path: folder.path(of: name), reason: errorSentence())
    }
    return bytes
  }
}
