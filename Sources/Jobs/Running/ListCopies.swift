import Glibc
package import ImageCaching
import ImageDownloading
import Base
import Lists
import Synchronization

/// Copies of fetched lists, with which a later run asks servers whether a list has changed (RFC 9110, section 13.1).
///
/// Each is a file in the folder `lists` of a cache, named by a digest of its request: a ``ListCopy``. It gets its name when it is
/// complete, and it has a checksum, since nothing is synced. A damaged copy is removed, and its list is fetched as if there were
/// none. Beyond ``maximumBytes`` the copies that weren't used for longest are removed.
final class ListCopies: Sendable {
  private struct State {
    /// The bytes of all copies, or more; nil before they were counted.
    var totalBytes: Int?
    var failure: String?
  }

  static let maximumBytes = 512 << 20
  /// The age in seconds from which a file without its name is one of a process that ended.
  private static let maximumDraftAge = 3600

  private let folder: String
  private let hasher: CredentialHasher
  private let maximumBytes: Int
  private let state = Mutex(State())

  init(in cache: ImageCache, maximumBytes: Int = ListCopies.maximumBytes) {
    folder = "\(cache.path)/lists"
    hasher = cache.credentialHasher
    self.maximumBytes = maximumBytes
  }

  /// Why a copy couldn't be written, as one sentence; that of the first.
  var failure: String? { state.withLock { $0.failure } }

  /// The name of the copy for a request, the same in each run that sends the same; it doesn't reveal credentials.
  func name(of url: BaseURL, _ options: DownloadOptions, isOwnOrigin: Bool) -> String {
    var texts = [String(decoding: url.bytes, as: UTF8.self), options.sentAccept, options.userAgent]
    texts.append("\(options.connection.connectTo)")
    if isOwnOrigin {
      texts += options.headers.map { "\($0.name.lowercased()): \($0.value)" }
      let credential = url.bytes.withUnsafeBytes { options.credential(for: $0) }
      if let credential { texts += [credential.user, credential.password] }
    }
    return Array(texts.joined(separator: "\n").utf8).withRawBytes { String(decoding: hasher.digest($0), as: UTF8.self) }
  }

  func copy(named name: String) -> ListCopy? {
    let descriptor = open(path(name), O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    if let copy = ListCopy(FileDescriptor(owning: descriptor)) { return copy }
    unlink(path(name))
    return nil
  }

  func touch(_ name: String) { utimensat(AT_FDCWD, path(name), nil, 0) }

  /// Keeps a copy of a fetched list if the server allows it and can be asked later.
  func keep(_ list: any FetchedBytes, named name: String, _ response: DownloadResponse) {
    guard !response.validators.isEmpty, response.freshness.isStorable, response.vary?.contains("*") != true else { return }
    let draft = path(".\(name)-\(String(UInt64.random(in: .min ... .max), radix: 36))")
    guard mkdir(folder, 0o755) == 0 || errno == EEXIST else { return fail() }
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return fail() }
    let file = FileDescriptor(owning: descriptor)
    guard ListCopy.write(list, response, to: file.number), rename(draft, path(name)) == 0 else {
      fail()
      unlink(draft)
      return
    }
    count(Int(file.status?.st_size ?? 0))
  }

  private func path(_ name: String) -> String { "\(folder)/\(name)" }

  private func fail() {
    let reason = errorSentence()
    state.withLock { state in
      let sentence = "cannot keep copies of lists in \(folder): \(reason); the next run fetches these lists whole"
      state.failure = state.failure ?? sentence
    }
  }

  /// Counts a new copy, and removes others if there are too many.
  private func count(_ bytes: Int) {
    let known = state.withLock { $0.totalBytes }
    if let known, known + bytes <= maximumBytes { return state.withLock { $0.totalBytes = known + bytes } }
    var copies = self.copies()
    var total = copies.reduce(0) { $0 + $1.bytes }
    if total > maximumBytes {
      copies.sort { $0.used > $1.used }
      // A quarter less, so that not every copy leads to a count.
      while total > maximumBytes / 4 * 3, copies.count > 1, let oldest = copies.popLast() {
        unlink(path(oldest.name))
        total -= oldest.bytes
      }
    }
    state.withLock { $0.totalBytes = total }
  }

  /// Removes all copies; a run that uses one now keeps its open file.
  fileprivate func removeAll() {
    for copy in copies() { unlink(path(copy.name)) }
  }

  /// All copies; removes what crashed processes left behind.
  private func copies() -> [(name: String, bytes: Int, used: Int)] {
    var copies: [(name: String, bytes: Int, used: Int)] = []
    for name in names(inFolder: folder) ?? [] {
      var status = stat()
      guard stat(path(name), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      if !name.hasPrefix(".") {
        copies.append((name, Int(status.st_size), status.st_mtim.tv_sec))
      } else if time(nil) - status.st_mtim.tv_sec > Self.maximumDraftAge {
        unlink(path(name))
      }
    }
    return copies
  }
}

/// Removes the copies of fetched lists in the folder of `cache`; the next run fetches these lists whole.
package func removeListCopies(of cache: ImageCache) { ListCopies(in: cache).removeAll() }

/// A whole copy of a list in a file: lines with what its response said, and the list.
///
/// ```
/// prewarm-list-1 SHA-256 of all that follows ETag Last-Modified Content-Type the URL that responded, if it isn't the requested
/// one
///
/// the list
/// ```
final class ListCopy: FetchedBytes {
  private static let mark = "prewarm-list-1"
  private static let lineCount = 7
  private static let maximumHeaderBytes = 32 << 10
  private static let blockBytes = 256 << 10

  let validators: Validators
  let contentType: String?
  let finalURL: [UInt8]?
  private let file: FileDescriptor
  var descriptor: Int32 { file.number }

  init?(_ file: consuming FileDescriptor) {
    let number = file.number
    let header = [UInt8](unsafeUninitializedCapacity: Self.maximumHeaderBytes) { block, count in
      count = readAll(number, at: 0, into: UnsafeMutableRawBufferPointer(block)) ?? 0
    }
    let lines = header.split(separator: UInt8(ascii: "\n"), maxSplits: Self.lineCount, omittingEmptySubsequences: false)
    guard lines.count == Self.lineCount + 1, lines[0].elementsEqual(Self.mark.utf8), lines[6].isEmpty else { return nil }
    let texts = lines.map { String(decoding: $0, as: UTF8.self) }
    guard Self.digest(of: number, from: lines[2].startIndex) == texts[1] else { return nil }
    validators = Validators(etag: texts[2].nonEmpty, lastModified: texts[3].nonEmpty)
    contentType = texts[4].nonEmpty
    finalURL = lines[5].isEmpty ? nil : Array(lines[5])
    guard lseek(number, off_t(lines[7].startIndex), SEEK_SET) >= 0 else { return nil }
    self.file = file
  }

  /// Writes a copy of `list`; returns false if that fails, with the error in `errno`.
  static func write(_ list: any FetchedBytes, _ response: DownloadResponse, to file: Int32) -> Bool {
    let finalURL = response.finalURLBytes.map { String(decoding: $0, as: UTF8.self) }
    let texts = [response.validators.etag, response.validators.lastModified, response.contentType, finalURL].map { $0 ?? "" }
    let header = Array((texts.joined(separator: "\n") + "\n\n").utf8)
    let start = mark.utf8.count + 2 + 2 * SHA256Stream.byteCount
    guard !texts.contains(where: { $0.utf8.contains(UInt8(ascii: "\n")) }), start + header.count <= maximumHeaderBytes else {
      errno = EMSGSIZE
      return false
    }
    let stream = SHA256Stream()
    header.withUnsafeBytes { stream.append($0) }
    let isRead = forEachBlock(of: list.descriptor, from: 0) { block in
      stream.append(block)
      return true
    }
    guard isRead else { return false }
    let beginning = Array("\(mark)\n\(hexadecimal(stream.finish()))\n".utf8) + header
    return beginning.withUnsafeBytes { writeAll($0, to: file) }
      && forEachBlock(of: list.descriptor, from: 0) { writeAll($0, to: file) }
  }

  private static func digest(of file: Int32, from start: Int) -> String? {
    let stream = SHA256Stream()
    let isRead = forEachBlock(of: file, from: UInt64(start)) { block in
      stream.append(block)
      return true
    }
    return isRead ? hexadecimal(stream.finish()) : nil
  }

  /// Calls `body` with the file's bytes from `start`; returns false if reading fails or `body` returns false.
  private static func forEachBlock(of file: Int32, from start: UInt64, _ body: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockBytes, alignment: 16)
    defer { block.deallocate() }
    var offset = start
    while let count = readAll(file, at: offset, into: block) {
      if count == 0 { return true }
      guard body(UnsafeRawBufferPointer(rebasing: block[..<count])) else { return false }
      offset += UInt64(count)
    }
    return false
  }
}

extension String {
  fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
