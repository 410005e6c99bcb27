import CCrypto
import Platform
package import Base

/// A read-only folder of image files with SDWebImage's names: see ``AppFileName``.
///
/// A hit costs one system call, a miss a few; nothing is listed or kept. Links in the folder aren't followed, since they could
/// lead to any file that this process may read; the folder itself may be a link.
package final class FlatFolder: Sendable {
  private let folder: CacheFolder

  /// Opens the folder, on any file system. Throws `missing` or `cannotOpen`.
  package init(path: String) throws(CacheError) { folder = try CacheFolder(reading: path) }

  package var path: String { folder.path }

  /// The bytes and the modification time of the image of a URL as first written; nil if the folder has none of the names of
  /// ``AppFileName/candidates(forURL:)``. A file that can't be opened, usually for lack of permission, counts as missing, and
  /// `onUnreadable` is called. Throws if reading fails or a file has more than `maximumBytes`.
  package func file(
    ofURL url: [UInt8],
    maximumBytes: Int,
    onUnreadable: (CacheError) -> Void = { _ in }
  ) throws(CacheError) -> (bytes: [UInt8], modifiedAt: Timestamp)? {
    let names = url.withUnsafeBytes { AppFileName.candidates(forURL: $0) }
    guard let found = try firstFile(of: names, onUnreadable: onUnreadable) else { return nil }
    let size = Int(found.status.st_size)
    guard size <= maximumBytes else {
      throw .cannotRead(path: folder.path(of: found.name), reason: "it has \(size) bytes, more than the \(maximumBytes) allowed")
    }
    guard let bytes = readAll(found.file.number, limit: size) else {
      throw .cannotRead(path: folder.path(of: found.name), reason: errorSentence())
    }
    return (bytes, Timestamp(modified: found.status))
  }

  /// Whether ``file(ofURL:maximumBytes:onUnreadable:)`` would find a file, without reading it.
  package func contains(url: UnsafeRawBufferPointer, onUnreadable: (CacheError) -> Void = { _ in }) throws(CacheError) -> Bool {
    try firstFile(of: AppFileName.candidates(forURL: url), onUnreadable: onUnreadable) != nil
  }

  private struct OpenedFile: ~Copyable {
    let name: String
    let file: FileDescriptor
    let status: stat
  }

  /// The first of a URL's names that is a regular file, opened.
  private func firstFile(of names: [String]?, onUnreadable: (CacheError) -> Void) throws(CacheError) -> OpenedFile? {
    guard let names else { throw .cannotRead(path: path, reason: "libcrypto refuses to compute MD5, as in FIPS mode") }
    for name in names {
      if let file = try openRegular(name, onUnreadable: onUnreadable), let status = file.status {
        return OpenedFile(name: name, file: file, status: status)
      }
    }
    return nil
  }

  package struct File: Sendable, Hashable {
    /// The name: 32 digits, and an extension if it has one.
    package let name: String
    package let byteCount: Int
    package let modifiedAt: Timestamp
  }

  /// Calls `body` with every regular file that has an image's name, in no particular order, until it returns false.
  package func forEachFile(_ body: (File) throws(CacheError) -> Bool) throws(CacheError) {
    try folder.forEachFile(in: ".") { name throws(CacheError) in
      var status = stat()
      guard Self.isImageName(name), fstatat(folder.descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.isRegular
      else { return true }
      return try body(File(name: name, byteCount: Int(status.st_size), modifiedAt: Timestamp(modified: status)))
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

func isHexadecimalDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 || byte &- UInt8(ascii: "a") < 6 }

extension stat {
  var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
}

/// File names as SDWebImage creates them (`SDDiskCacheFileNameForKey` in its `SDDiskCache.m`): MD5 of the URL as first written,
/// in hexadecimal, with or without an extension.
///
/// The extension is that of the URL's path after percent-decoding, or of the whole text if Foundation doesn't accept it as a URL.
/// Both differ between versions, so look-ups try ``candidates(forURL:)``; all versions find a name without extension.
enum AppFileName {
  static let digitCount = 32
  /// SD_MAX_FILE_EXTENSION_LENGTH: NAME_MAX without the digits and a dot; longer extensions are omitted. SDWebImage counts UTF-16
  /// units, this code bytes, which is how Linux limits names.
  private static let longestExtension = 255 - digitCount - 1

  /// MD5 (RFC 1321) as 32 digits; nil if libcrypto refuses to compute it, as in FIPS mode.
  static func digits(of url: UnsafeRawBufferPointer) -> String? {
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard EVP_Digest(url.baseAddress, url.count, &digest, &count, EVP_md5(), nil) == 1 else { return nil }
    return hexadecimal(digest.prefix(Int(count)))
  }

  /// All names that versions of SDWebImage may have given the file, the likeliest first; nil as for ``digits(of:)``.
  static func candidates(forURL url: UnsafeRawBufferPointer) -> [String]? {
    guard let digits = digits(of: url) else { return nil }
    let path = path(of: url)
    var names = [digits]
    for text in [decodingPercents(path), Array(path), Array(url)] {
      guard let text, let name = name(digits, pathExtension: pathExtension(of: text)), !names.contains(name) else { continue }
      names.append(name)
    }
    return names
  }

  /// The digits of a URL with the extension of its path, if it has one that fits.
  static func nameWithExtension(_ digits: String, _ url: UnsafeRawBufferPointer) -> String {
    decodingPercents(path(of: url)).flatMap { name(digits, pathExtension: pathExtension(of: $0)) } ?? digits
  }

  private static func name(_ digits: String, pathExtension: [UInt8]) -> String? {
    // SDSanitizeFileNameString removes the two bytes that file names can't have on Apple's systems.
    let sane = pathExtension.filter { $0 != 0 && $0 != UInt8(ascii: ":") }
    guard !sane.isEmpty, !sane.contains(UInt8(ascii: "/")), let text = String(validating: sane, as: UTF8.self) else { return nil }
    return sane.count <= longestExtension ? "\(digits).\(text)" : nil
  }

  /// The text after the last dot of the last component, by the rules of Foundation's `pathExtension`: empty if the dot begins or
  /// ends the component, or if that text has a space or a mark of writing direction.
  static func pathExtension(of path: [UInt8]) -> [UInt8] {
    let end = path.lastIndex { $0 != UInt8(ascii: "/") }.map { $0 + 1 } ?? 0
    let start = path[..<end].lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    let component = path[start..<end]
    guard let dot = component.lastIndex(of: UInt8(ascii: ".")), dot > start, dot + 1 < end else { return [] }
    let dots = component.prefix(2)
    if dots.count == 2 && dots.allSatisfy({ $0 == UInt8(ascii: ".") }) { return [] }
    let found = Array(component[(dot + 1)...])
    return String(decoding: found, as: UTF8.self).unicodeScalars.contains(where: isRefused) ? [] : found
  }

  private static func isRefused(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20, 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// The path of a URL: from the end of the authority to the query or fragment.
  private static func path(of url: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
    let end = url.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? url.count
    let whole = url[..<end]
    guard let colon = whole.firstIndex(of: UInt8(ascii: ":")), whole[(colon + 1)...].starts(with: "//".utf8) else { return whole }
    return whole[(colon + 3)...].drop { $0 != UInt8(ascii: "/") }
  }

  /// The percent-decoded bytes; nil if a percent sign begins no encoding.
  private static func decodingPercents(_ bytes: Slice<UnsafeRawBufferPointer>) -> [UInt8]? {
    var (decoded, rest): ([UInt8], _) = ([], bytes)
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        decoded.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(hexadecimalValue), let low = rest.popFirst().flatMap(hexadecimalValue) else {
        return nil
      }
      decoded.append(high << 4 | low)
    }
    return decoded
  }
}
