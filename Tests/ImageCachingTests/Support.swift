import Foundation
import Glibc
import Base
import TestSupport

@testable import ImageCaching

/// A cache in the test's own folder.
func makeCache(
  _ directory: TemporaryDirectory,
  namespace: String = "default",
  access: ImageCache.Access = .readWrite,
  maxAge: Duration? = .seconds(7 * 86_400),
  maxBodyBytes: Int? = nil,
  trimTo: Double = 0.5,
  expireBy: ExpiryBasis = .modification,
  freshness: FreshnessRule = .age,
  minFresh: Duration = .zero,
  blacklistTTL: Duration? = .seconds(6 * 3600),
  clock: ManualClock = ManualClock()
) throws(CacheError) -> ImageCache {
  try ImageCache(
    ImageCache.Configuration(
      directory: directory.path,
      namespace: namespace,
      access: access,
      maxAge: maxAge,
      maxBodyBytes: maxBodyBytes,
      trimTo: trimTo,
      expireBy: expireBy,
      freshness: freshness,
      minFresh: minFresh,
      blacklistTTL: blacklistTTL,
      time: clock.source
    )
  )
}

/// Bytes that depend on seed and length.
func body(_ byteCount: Int, seed: UInt8 = 1) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, filled in
    memset(buffer.baseAddress!, Int32(seed) &* 97, byteCount)
    for offset in stride(from: 0, to: byteCount, by: 509) { buffer[offset] = UInt8(truncatingIfNeeded: offset / 509) }
    filled = byteCount
  }
}

/// An identity's key and bytes.
func identity(_ text: String) -> (key: CacheKey, bytes: [UInt8]) { (CacheKey(identity: Array(text.utf8)), Array(text.utf8)) }

extension CacheWriter {
  /// Stores a body under an identity that is also its URL, unless `url` is given.
  func put(
    _ name: String,
    _ body: [UInt8],
    url: String? = nil,
    key: CacheKey? = nil,
    proof: ProofDepth = .header,
    lifetime: Duration? = nil,
    freshness: Freshness = Freshness(),
    vary: [UInt8] = [],
    staged: StagedBlob? = nil
  ) throws(CacheError) {
    let head = EntryHead(
      image: ImageProperties(format: .png, width: 640, height: 480),
      proof: proof,
      contentTypeMatch: .alias,
      checksum: staged?.checksum ?? body.withUnsafeBytes(checksum(of:)),
      freshness: freshness,
      lifetime: lifetime
    )
    let fields = EntryFields(
      key: key ?? identity(name).key,
      head: head,
      identity: identity(name).bytes,
      shownURL: Array((url ?? name).utf8),
      validators: Validators(etag: "\"1\"", lastModified: "Sat, 21 Nov 2026 09:00:00 GMT"),
      contentType: "image/png",
      vary: vary
    )
    try store(fields, body: staged.map(NewBody.staged) ?? .bytes(body))
  }
}

extension CacheReader {
  func lookUp(_ name: String) throws(CacheError) -> LookUp {
    try Array(name.utf8).withRawBytes { (bytes) throws(CacheError) in
      try lookUp(CacheKey(identity: bytes), identity: bytes)
    }
  }
}

extension ImageCache {
  /// Stores a body in a separate transaction under an identity that is also its URL.
  func put(
    _ name: String,
    _ body: [UInt8],
    url: String? = nil,
    proof: ProofDepth = .header,
    lifetime: Duration? = nil,
    freshness: Freshness = Freshness(),
    vary: [UInt8] = []
  ) throws(CacheError) {
    try write { (writer) throws(CacheError) in
      try writer.put(name, body, url: url, proof: proof, lifetime: lifetime, freshness: freshness, vary: vary)
    }
  }

  func details(_ name: String) throws(CacheError) -> EntryDetails? {
    try Array(name.utf8).withRawBytes { (bytes) throws(CacheError) in
      try read { (reader) throws(CacheError) in try reader.details(CacheKey(identity: bytes), identity: bytes) }
    }
  }

  func lookUp(_ name: String) throws(CacheError) -> LookUp {
    try read { (reader) throws(CacheError) in try reader.lookUp(name) }
  }

  /// The head of a cached entry, fresh or expired.
  func head(_ name: String) throws(CacheError) -> EntryHead? {
    switch try lookUp(name) {
    case .fresh(let head), .expired(let head): head
    case .missing: nil
    }
  }

  func isFresh(_ name: String) throws(CacheError) -> Bool {
    if case .fresh = try lookUp(name) { true } else { false }
  }

  /// The body of a cached entry; nil if there is none.
  func cachedBody(_ name: String) throws(CacheError) -> CachedBody? {
    guard let head = try head(name) else { return nil }
    return try body(name, as: head)
  }

  func body(_ name: String, as head: EntryHead) throws(CacheError) -> CachedBody? {
    try body(of: identity(name).key, identity: identity(name).bytes, as: head)
  }

  func touch(_ name: String) throws(CacheError) {
    try write { (writer) throws(CacheError) in
      try writer.touch(identity(name).key, identity: identity(name).bytes)
    }
  }

  func remove(_ name: String) throws(CacheError) -> Bool {
    try remove(identity: Array(name.utf8))
  }

  /// Those of `names` that have an entry.
  func present(_ names: [String]) throws(CacheError) -> [String] {
    var present: [String] = []
    for name in names where try head(name) != nil { present.append(name) }
    return present
  }

  /// Counts entries and bytes record by record, for comparison with the totals.
  func counted() throws(CacheError) -> (entries: Int, bodyBytes: Int) {
    var last: EntryRecord?
    var result = (entries: 0, bodyBytes: 0)
    while true {
      let page = try entries(after: last, limit: 100)
      guard let end = page.last else { return result }
      last = end
      result.entries += page.count
      result.bodyBytes += page.reduce(0) { $0 + Int($1.head.bodySize) }
    }
  }

  /// Stages a body in a separate file.
  func stage(_ bytes: [UInt8], partSize: Int = 50_000) throws(CacheError) -> StagedBlob {
    let writer = try makeBlobWriter()
    var offset = 0
    while offset < bytes.count {
      let end = min(bytes.count, offset + partSize)
      try Array(bytes[offset..<end]).withRawBytes { (bytes) throws(CacheError) in try writer.append(bytes) }
      offset = end
    }
    return try writer.finish()
  }
}

extension TemporaryDirectory {
  /// Flips a bit in the only large body.
  func damageBlob(namespace: String = "default") {
    let name = files(below: file("\(namespace)/blobs")).first.map { "\(namespace)/blobs/\($0)" }
    guard let name, var bytes = read(name) else { return }
    bytes[1000] ^= 1
    write(bytes, to: name)
  }

  /// Sets the modification time of a file.
  func setModified(_ name: String, _ time: Timestamp) {
    let moment = timespec(tv_sec: Int(time.milliseconds / 1000), tv_nsec: Int(time.milliseconds % 1000) * 1_000_000)
    utimensat(AT_FDCWD, file(name), [moment, moment], 0)
  }

  /// The modification time of a file; nil if it doesn't exist.
  func modified(_ name: String) -> Timestamp? {
    let date = try? FileManager.default.attributesOfItem(atPath: file(name))[.modificationDate] as? Date
    return date.map { Timestamp(milliseconds: Int64(($0.timeIntervalSince1970 * 1000).rounded())) }
  }
}

/// The paths of all files in a folder and its subfolders, relative to it.
func files(below path: String) -> [String] {
  guard let folder = opendir(path) else { return [] }
  defer { closedir(folder) }
  var found: [String] = []
  while let entry = readdir(folder) {
    let isFolder = entry.pointee.d_type == UInt8(DT_DIR)
    let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    if name == "." || name == ".." { continue }
    if isFolder { found += files(below: "\(path)/\(name)").map { "\(name)/\($0)" } } else { found.append(name) }
  }
  return found.sorted()
}

/// The name of a URL's file in a flat folder, without extension.
func digits(_ url: String) -> String { Array(url.utf8).withUnsafeBytes { AppFileName.digits(of: $0) } ?? "" }

/// The files of large bodies in the default namespace, including arriving ones.
func blobs(_ directory: TemporaryDirectory) -> [String] { files(below: directory.file("default/blobs")) }
