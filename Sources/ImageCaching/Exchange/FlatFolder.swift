import Glibc
public import ImagePrimitives

/// A folder of images in plain files, named as SDWebImage names them: MD5 of the URL as first written, in lower-case hexadecimal
/// digits, with or without an extension. It is only read.
///
/// Files are found by name, one call of the system for a hit and a few for a miss; nothing is listed or kept. Only regular files
/// count: a symbolic link in the folder is not followed, since it could lead to anything that this process may read. The folder
/// itself may be one.
public final class FlatFolder: Sendable {
  private let folder: CacheFolder

  /// Opens the folder, on whatever file system.
  ///
  /// Throws `missing` where there is none, and `cannotOpen` where it may not be read or is no folder.
  public init(path: String) throws(CacheError) { folder = try CacheFolder(reading: path) }

  /// The path as it was given.
  public var path: String { folder.path }

  /// The bytes of the image of a URL, which is to be given as it was first written; nil where the folder has no such file.
  ///
  /// Names are tried in this order: without extension; with that of the URL's path, percent-encoding undone; with that of the
  /// path as it stands; with that of the whole text, as SDWebImage does for what Foundation takes for no URL. An extension above
  /// 222 characters is left out, as there. A file that cannot be opened, for want of permission as a rule, counts as none, and
  /// `onUnreadable` is told of it. Throws where reading fails, and where a file has more than `maximumBytes`.
  public func body(
    ofURL url: UnsafeRawBufferPointer,
    maximumBytes: Int,
    onUnreadable: (CacheError) -> Void = { _ in }
  ) throws(CacheError) -> [UInt8]? {
    try file(ofURL: url, maximumBytes: maximumBytes, onUnreadable: onUnreadable)?.bytes
  }

  /// Whether ``body(ofURL:maximumBytes:onUnreadable:)`` would find a file; it is not read.
  public func contains(
    url: UnsafeRawBufferPointer,
    onUnreadable: (CacheError) -> Void = { _ in }
  ) throws(CacheError) -> Bool {
    try firstFile(ofURL: url, onUnreadable: onUnreadable) != nil
  }

  /// As ``body(ofURL:maximumBytes:onUnreadable:)``, with the file's time of modification.
  func file(
    ofURL url: UnsafeRawBufferPointer,
    maximumBytes: Int,
    onUnreadable: (CacheError) -> Void
  ) throws(CacheError) -> (bytes: [UInt8], modifiedAt: Timestamp)? {
    guard let found = try firstFile(ofURL: url, onUnreadable: onUnreadable) else { return nil }
    let size = Int(found.status.st_size)
    guard size <= maximumBytes else {
      throw .cannotRead(path: folder.path(of: found.name), reason: "it has \(size) bytes, more than the \(maximumBytes) allowed")
    }
    guard let bytes = readAll(found.file.number, limit: size) else {
      throw .cannotRead(path: folder.path(of: found.name), reason: errorSentence())
    }
    return (bytes, Timestamp(found.status.st_mtim))
  }

  private struct OpenedFile: ~Copyable {
    let name: String
    let file: FileDescriptor
    let status: stat
  }

  /// The first of a URL's names that is a regular file here, open.
  private func firstFile(
    ofURL url: UnsafeRawBufferPointer,
    onUnreadable: (CacheError) -> Void
  ) throws(CacheError) -> OpenedFile? {
    guard let names = AppFileName.candidates(forURL: url) else {
      throw .cannotRead(path: path, reason: "libcrypto does not compute MD5 here, as in FIPS mode")
    }
    for name in names {
      if let file = try openRegular(name, onUnreadable: onUnreadable), let status = file.status {
        return OpenedFile(name: name, file: file, status: status)
      }
    }
    return nil
  }

  /// One of its files.
  public struct File: Sendable, Hashable {
    /// The name: 32 digits, and an extension where it has one.
    public let name: String
    /// How long it is.
    public let byteCount: Int
    /// When it was last written.
    public let modifiedAt: Timestamp
  }

  /// Calls `body` with every regular file that is named as images are, in no order, until it returns false. Nothing is kept.
  public func forEachFile(_ body: (File) throws(CacheError) -> Bool) throws(CacheError) {
    var goesOn = true
    try folder.forEachFile(in: ".") { name throws(CacheError) in
      var status = stat()
      guard goesOn, Self.isImageName(name), fstatat(folder.descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
        status.isRegular
      else { return }
      goesOn = try body(File(name: name, byteCount: Int(status.st_size), modifiedAt: Timestamp(status.st_mtim)))
    }
  }

  /// Whether images are named so.
  static func isImageName(_ name: String) -> Bool {
    let digits = name.utf8.prefix(AppFileName.digitCount)
    let rest = name.utf8.dropFirst(AppFileName.digitCount)
    return digits.count == AppFileName.digitCount && digits.allSatisfy(isHexadecimalDigit)
      && (rest.isEmpty || rest.first == UInt8(ascii: ".") && rest.count > 1)
  }

  private func openRegular(_ name: String, onUnreadable: (CacheError) -> Void) throws(CacheError) -> FileDescriptor? {
    // Without O_NONBLOCK a pipe of that name would hold us until somebody writes to it.
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let number = uninterrupted { openat(folder.descriptor.number, name, flags) }
    guard number >= 0 else {
      switch errno {
      case ENOENT, ELOOP, ENAMETOOLONG, ENXIO: return nil
      case EMFILE, ENFILE: throw .tooManyOpenFiles(path: path)
      default:
        // One file that nobody may read is no reason to do without all others.
        onUnreadable(.cannotOpen(path: folder.path(of: name), reason: errorSentence()))
        return nil
      }
    }
    let file = FileDescriptor(owning: number)
    guard let status = file.status, status.isRegular else { return nil }
    return file
  }
}

/// Whether it is a digit of a hash, in lower case.
func isHexadecimalDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 || byte &- UInt8(ascii: "a") < 6 }

extension stat {
  /// Whether it is a plain file: no folder, link, device or pipe.
  var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
}
