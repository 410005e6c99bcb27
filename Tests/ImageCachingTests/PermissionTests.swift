import Glibc
import Base
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct PermissionTests {
  @Test(.mounting)
  func `a full disk fails the batch; entries stay readable, and storing resumes once there is room`() throws {
    let mount = try TemporaryMount(byteCount: 4 << 20)
    let cache = try makeCache(mount.directory)
    let full = CacheError.diskFull(path: mount.directory.file("default"))
    var stored: [String] = []
    #expect(throws: full) {
      for number in 0..<100 {
        try cache.put("\(number)", body(100_000))
        stored.append("\(number)")
      }
    }
    #expect(stored.count > 20)
    #expect(throws: full) { try cache.put("blob", body(1_000_000)) }
    #expect(throws: full) { try cache.stage(body(1_000_000)) }
    #expect(blobs(mount.directory).isEmpty)
    for name in stored { #expect(try cache.cachedBody(name) == .bytes(body(100_000))) }
    #expect(try cache.totals().entries == stored.count)
    #expect(try cache.counted() == (stored.count, stored.count * 100_000))

    for name in stored.prefix(10) { #expect(try cache.remove(name)) }
    try cache.put("again", body(100_000))
    #expect(try cache.isFresh("again"))
  }

  @Test(.mounting) func `a read-only mount is read without a lock file`() async throws {
    let mount = try TemporaryMount(byteCount: 4 << 20)
    // Write in a separate process: while a process that other tests start shares this one's writable files, the kernel doesn't make
    // their mount read-only.
    await #expect(processExitsWith: .success) { [path = mount.directory.path as String] in
      let cache = try openCache(path)
      try cache.put("small", body(10))
      try cache.put("large", body(400_000))
    }
    unlink(mount.directory.file("default/index.mdb-lock"))
    try mount.makeReadOnly()

    let cache = try makeCache(mount.directory, access: .readOnly)
    #expect(try cache.cachedBody("small") == .bytes(body(10)))
    #expect(try cache.cachedBody("large") == .bytes(body(400_000)))
    #expect(try cache.totals().entries == 2)
    #expect {
      _ = try makeCache(mount.directory)
    } throws: {
      guard case .cannotWrite(_, "Read-only file system")? = $0 as? CacheError else { return false }
      return true
    }
  }

  @Test(
    .enabled(if: geteuid() == 0, "requires root to switch to the user nobody")
  )
  func `a user without write permission can read while no process writes`() async throws {
    let directory = TemporaryDirectory()
    chmod(directory.path, 0o755)
    var writer: ImageCache? = try openCache(directory.path)
    try writer?.put("a", body(10))
    await #expect(processExitsWith: .success) { [path = directory.path as String, parent = getpid() as Int32] in
      #expect(seteuid(65_534) == 0)
      #expect(throws: CacheError.inUse(path: "\(path)/default", processes: [Int(parent)])) {
        try openCache(path, access: .readOnly)
      }
    }
    withExtendedLifetime(writer) {}
    writer = nil
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      #expect(seteuid(65_534) == 0)
      let cache = try openCache(path, access: .readOnly)
      #expect(try cache.cachedBody("a") == .bytes(body(10)))
      #expect(throws: CacheError.readOnly(path: cache.path)) { try cache.put("b", body(10)) }
      #expect(throws: CacheError.cannotWrite(path: cache.path, reason: "Permission denied")) { try openCache(path) }
    }
  }

  @Test(
    .enabled(if: geteuid() == 0, "requires root to switch to the user nobody")
  )
  func `an unreadable file of a flat folder is a miss and is reported`() async throws {
    let directory = TemporaryDirectory()
    chmod(directory.path, 0o755)
    let cache = try openCache(directory.file("cache"))
    for name in ["readable", "secret"] { try cache.put("https://h/\(name)", body(10)) }
    _ = try cache.export(to: directory.file("flat"), layout: .sdwebimage(withExtension: false))
    let secret = digits("https://h/secret")
    chmod(directory.file("flat/\(secret)"), 0o600)
    await #expect(processExitsWith: .success) { [path = directory.file("flat") as String, secret = secret as String] in
      #expect(seteuid(65_534) == 0)
      let folder = try FlatFolder(path: path)
      let error = CacheError.cannotOpen(path: "\(path)/\(secret)", reason: "Permission denied")
      var reported: [CacheError] = []
      try Array("https://h/secret".utf8).withRawBytes { (url) throws(CacheError) in
        #expect(try !folder.contains(url: url) { reported.append($0) })
      }
      let secret = try folder.file(ofURL: Array("https://h/secret".utf8), maximumBytes: 100) { reported.append($0) }
      #expect(secret == nil)
      #expect(reported == [error, error])
      #expect(try folder.file(ofURL: Array("https://h/readable".utf8), maximumBytes: 100)?.bytes == body(10))
    }
  }

  @Test func `reading creates no files`() throws {
    let directory = TemporaryDirectory()
    #expect(throws: CacheError.missing(path: directory.file("default"))) { try makeCache(directory, access: .readOnly) }
    #expect(files(below: directory.path).isEmpty)
    mkdir(directory.file("default"), 0o755)
    #expect(throws: CacheError.missing(path: directory.file("default"))) { try makeCache(directory, access: .readOnly) }
    #expect(files(below: directory.path).isEmpty)
  }

  @Test func `a read-only cache rejects every change`() throws {
    let directory = TemporaryDirectory()
    try makeCache(directory).put("a", body(10))
    let cache = try makeCache(directory, access: .readOnly)
    let error = CacheError.readOnly(path: cache.path)
    #expect(throws: error) { try cache.put("b", body(10)) }
    #expect(throws: error) { _ = try cache.remove("a") }
    #expect(throws: error) { try cache.trim() }
    #expect(throws: error) { try cache.clear() }
    #expect(throws: error) { try cache.compact() }
    #expect(throws: error) { try cache.clearBlacklist() }
    #expect(throws: error) { try cache.sweepBlobs() }
    #expect(throws: error) { _ = try cache.makeBlobWriter() }
    #expect(try cache.isFresh("a"))
    // Another cache on the same folder can be opened for writing.
    try makeCache(directory).put("b", body(10))
    #expect(try cache.isFresh("b"))
  }
}

extension Trait where Self == ConditionTrait {
  /// For tests that mount a file system.
  static var mounting: Self { .enabled(if: TemporaryMount.isAllowed, "requires permission to mount") }
}
