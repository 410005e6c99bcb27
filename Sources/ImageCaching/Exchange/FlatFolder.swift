import Platform
package import Base

/// A read-only folder of image files with SDWebImage's names: MD5 of the URL as first written, in lower-case hexadecimal digits,
/// with or without an extension.
///
/// Files are found by name, with one system call for a hit and a few for a miss; nothing is listed or kept. Only regular files
/// count: symbolic links in the folder aren't followed, since they could lead to any file that this process may read. The folder
/// itself may be a link.
package final class FlatFolder: Sendable {
  private let folder: CacheFolder

  /// Opens the folder, on any file system.
  ///
  /// Throws `missing` if it doesn't exist, and `cannotOpen` if it isn't a folder or isn't readable.
  package init(path: String) throws(CacheError) { folder = try CacheFolder(reading: path) }

  /// The path as given.
  package var path: String { folder.path }

  /// The bytes of the image of a URL, which must be given as first written; nil if the folder has no file for it.
  ///
  /// Names are tried in this order: without extension; with the extension of the percent-decoded path; with that of the undecoded
  /// path; with that of the whole text, as SDWebImage does for text that Foundation doesn't accept as a URL. As there, extensions
  /// above 222 characters are omitted. A file that can't be opened, usually for lack of permission, counts as missing, and
  /// `onUnreadable` is called. Throws if reading fails or a file has more than `maximumBytes`.
  package func body(
    ofURL url: UnsafeRawBufferPointer,
    maximumBytes: Int,
    onUnreadable: (CacheError) -> Void = { _ in }
  ) throws(CacheError) -> [UInt8]? {
    try file(ofURL: url, maximumBytes: maximumBytes, onUnreadable: onUnreadable)?.bytes
  }

  /// Whether ``body(ofURL:maximumBytes:onUnreadable:)`` would find a file, without reading it.
  package func contains(
    url: UnsafeRawBufferPointer,
    onUnreadable: (CacheError) -> Void = { _ in }
  ) throws(CacheError) -> Bool {
    try firstFile(ofURL: url, onUnreadable: onUnreadable) != nil
  }

  /// The same as ``body(ofURL:maximumBytes:onUnreadable:)``, with the file's modification time.
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
    return (bytes, Timestamp(modified: found.status))
  }

  private struct OpenedFile: ~Copyable {
    let name: String
    let file: FileDescriptor
    let status: stat
  }

  /// The first of a URL's names that is a regular file, opened.
  private func firstFile(
    ofURL url: UnsafeRawBufferPointer,
    onUnreadable: (CacheError) -> Void
  ) throws(CacheError) -> OpenedFile? {
    guard let names = AppFileName.candidates(forURL: url) else {
      throw .cannotRead(path: path, reason: "libcrypto refuses to compute MD5, as in FIPS mode")
    }
    for name in names {
      if let file = try openRegular(name, onUnreadable: onUnreadable), let status = file.status {
        return OpenedFile(name: name, file: file, status: status)
      }
    }
    return nil
  }

  /// A file of the folder.
  package struct File: Sendable, Hashable {
    /// The name: 32 digits, and an extension if it has one.
    package let name: String
    package let byteCount: Int
    /// The time of the last modification.
    package let modifiedAt: Timestamp
  }

  /// Calls `body` with every regular file that has an image's name, in no particular order, until it returns false.
  package func forEachFile(_ body: (File) throws(CacheError) -> Bool) throws(CacheError) {
    var continues = true
    try folder.forEachFile(in: ".") { name throws(CacheError) in
      var status = stat()
      guard continues, Self.isImageName(name), fstatat(folder.descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
        status.isRegular
      else { return }
      continues = try body(File(name: name, byteCount: Int(status.st_size), modifiedAt: Timestamp(modified: status)))
    }
  }

  /// Whether the name is one that SDWebImage gives images.
  static func isImageName(_ name: String) -> Bool {
    let digits = name.utf8.prefix(AppFileName.digitCount)
    let rest = name.utf8.dropFirst(AppFileName.digitCount)
    return digits.count == AppFileName.digitCount && digits.allSatisfy(isHexadecimalDigit)
      && (rest.isEmpty || rest.first == UInt8(ascii: ".") && rest.count > 1)
  }

  private func openRegular(_ name: String, onUnreadable: (CacheError) -> Void) throws(CacheError) -> FileDescriptor? {
    // Without O_NONBLOCK, opening a named pipe would block until another process writes to it.
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let number = uninterrupted { openat(folder.descriptor.number, name, flags) }
    guard number >= 0 else {
      switch errno {
      case ENOENT, ELOOP, ENAMETOOLONG, ENXIO: return nil
      case EMFILE, ENFILE: throw .tooManyOpenFiles(path: path)
      default:
        // One unreadable file must not fail look-ups of the others.
        onUnreadable(.cannotOpen(path: folder.path(of: name), reason: errorSentence()))
        return nil
      }
    }
    let file = FileDescriptor(owning: number)
    guard let status = file.status, status.isRegular else { return nil }
    return file
  }
}

/// Whether it is a hexadecimal digit in lower case.
func isHexadecimalDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 || byte &- UInt8(ascii: "a") < 6 }

extension stat {
  /// Whether it is a plain file rather than a folder, link, device or pipe.
  var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
}
