import Glibc
import Base
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct FolderTests {
  @Test func `a folder is recognised by any of its paths`() throws {
    let directory = TemporaryDirectory()
    let cache = try openCache(directory.path)
    symlink(directory.path, directory.file("link"))
    for path in ["\(directory.path)/", "\(directory.path)/./", directory.file("link")] {
      let same = try openCache(path)
      #expect(same.folderIdentity == cache.folderIdentity && same.environment === cache.environment)
      try same.put(path, body(10))
      #expect(try cache.isFresh(path))
    }
    #expect(try makeCache(directory, namespace: "other").folderIdentity != cache.folderIdentity)
  }

  let directory = TemporaryDirectory()

  /// Expects that the cache is rejected as damaged, or as cut.
  private func expectRejection(
    asCut: Bool = false,
    access: ImageCache.Access = .readWrite,
    at location: SourceLocation = #_sourceLocation
  ) {
    let isExpected =
      switch rejection(access: access) {
      case .damaged: !asCut
      case .cut: asCut
      default: false
      }
    #expect(isExpected, sourceLocation: location)
  }

  private func rejection(access: ImageCache.Access = .readWrite) -> CacheError? {
    do throws(CacheError) {
      _ = try makeCache(directory, access: access)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a new folder contains its marker files`() throws {
    let cache = try makeCache(directory, namespace: "images")
    #expect(cache.path == directory.file("images"))
    #expect(directory.read("images/VERSION") == Array("1\n".utf8))
    #expect(directory.read("images/CACHEDIR.TAG")?.starts(with: "Signature: 8a477f597d28d172789f06886806bc55".utf8) == true)
    #expect(directory.read("images/KEY")?.count == 32)
    var status = stat()
    #expect(stat(directory.file("images/KEY"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    let all = ["CACHEDIR.TAG", "KEY", "VERSION", "index.mdb", "index.mdb-lock", "use.lock"]
    #expect(files(below: directory.file("images")) == all)
  }

  @Test func `missing parent folders are created`() throws {
    let deep = ImageCache.Configuration(directory: directory.file("a/b/c"))
    #expect(try ImageCache(deep).totals().entries == 0)
  }

  @Test func `a folder that cannot be created is named with the reason`() {
    directory.write("in the way", to: "file")
    #expect(throws: CacheError.cannotMake(path: directory.file("file/default"), reason: "Not a directory")) {
      try ImageCache(ImageCache.Configuration(directory: directory.file("file")))
    }
  }

  @Test(arguments: ["0\n", "2\n", "", "one"])
  func `a cache of another version is rejected and left alone`(text: String) throws {
    _ = try makeCache(directory).put("a", body(10))
    let index = directory.read("default/index.mdb")
    directory.write(text, to: "default/VERSION")
    let found = text.split(separator: "\n").first.map(String.init) ?? ""
    for access in [ImageCache.Access.readOnly, .readWrite] {
      #expect(rejection(access: access) == .wrongVersion(path: directory.file("default"), found: found, supported: 1))
    }
    #expect(directory.read("default/index.mdb") == index)
    #expect(directory.read("default/VERSION") == Array(text.utf8))
  }

  @Test func `an index without a version is rejected`() throws {
    _ = try makeCache(directory)
    unlink(directory.file("default/VERSION"))
    #expect(rejection() == .wrongVersion(path: directory.file("default"), found: nil, supported: 1))
  }

  @Test(arguments: [-1, 100, 4096, 8192, 100_000])
  func `a truncated index is rejected before it is mapped`(length: Int) throws {
    let cache = try makeCache(directory)
    for number in 0..<20 { try cache.put("\(number)", body(20_000)) }
    let whole = try #require(directory.read("default/index.mdb"))
    withExtendedLifetime(cache) {}
    let copy = TemporaryDirectory()
    copy.write("1\n", to: "default/VERSION")
    let actual = length < 0 ? whole.count + length : length
    copy.write(whole.prefix(actual), to: "default/index.mdb")
    #expect {
      _ = try makeCache(copy)
    } throws: { error in
      guard case .cut(copy.file("default/index.mdb"), let expected, actual)? = error as? CacheError else { return false }
      return expected <= whole.count && expected > actual
    }
  }

  @Test(
    arguments: [
      (40, 0, 4), (40, 3, 4), (40, 1 << 30, 4), (20, 9, 4), (32, 1 << 60, 8), (44, 4, 2), (92, 4, 2), (136, 1 << 60, 8),
      (136, 0, 8), (80, 1, 8), (80, 1 << 40, 8), (128, 0, 8), (128, 1 << 62, 8), (94, 4000, 2),
    ] as [(Int, Int, Int)]
  )
  func `impossible values of a meta page are rejected as damaged before the index is mapped`(
    field: (offset: Int, value: Int, byteCount: Int)
  ) throws {
    try damageMetaPage(ofNewest: true, field.offset, field.value, byteCount: field.byteCount)
    for access in [ImageCache.Access.readOnly, .readWrite] { expectRejection(access: access) }
  }

  @Test func `mixed values of the older meta page, as a failed write leaves them, don't matter`() throws {
    try damageMetaPage(ofNewest: false, 128, 1 << 40, byteCount: 8)
    #expect(rejection() == nil)
    let cache = try makeCache(directory)
    #expect(try cache.totals().entries == 5)
  }

  /// Fills a cache, and writes a value into one of its index's meta pages.
  private func damageMetaPage(ofNewest: Bool, _ offset: Int, _ value: Int, byteCount: Int) throws {
    do {
      let cache = try makeCache(directory)
      for number in 0..<5 { try cache.put("\(number)", body(20_000)) }
    }
    var index = try #require(directory.read("default/index.mdb"))
    let isSecondNewer = index[4096 + 144..<4096 + 152].reversed().lexicographicallyPrecedes(index[144..<152].reversed()) == false
    let page = isSecondNewer == ofNewest ? 4096 : 0
    for byte in 0..<byteCount { index[page + offset + byte] = UInt8(truncatingIfNeeded: value >> (8 * byte)) }
    directory.write(index, to: "default/index.mdb")
  }

  @Test(arguments: [24, 34]) func `an index that lacks more pages than its free list can have is truncated`(
    bits: Int
  ) throws {
    do {
      let cache = try makeCache(directory)
      for number in 0..<5 { try cache.put("\(number)", body(20_000)) }
    }
    var index = try #require(directory.read("default/index.mdb"))
    // The last page, in both meta pages.
    for place in [136, 4096 + 136] {
      index.replaceSubrange(place..<place + 8, with: withUnsafeBytes(of: (1 << bits).littleEndian, Array.init))
    }
    directory.write(index, to: "default/index.mdb")
    expectRejection(asCut: true)
  }

  @Test func `a file that isn't an index is rejected`() throws {
    directory.write("1\n", to: "default/VERSION")
    directory.write([UInt8](repeating: 7, count: 10_000), to: "default/index.mdb")
    expectRejection()
  }

  /// Creates an index whose last pages are free and were never written, since a transaction allocated and freed them.
  private func makeIndexWithFreeEnd() throws {
    let cache = try makeCache(directory)
    for _ in 0..<5 { try cache.put("kept", body(10)) }
    try cache.write { (writer) throws(CacheError) in
      for number in 0..<50 { try writer.put("\(number)", body(100_000)) }
      for number in 0..<50 { try writer.remove(identity("\(number)").key, identity: identity("\(number)").bytes) }
    }
  }

  @Test func `an index that lacks only free pages is complete; one that lacks more is truncated`() throws {
    try makeIndexWithFreeEnd()
    #expect(try makeCache(directory).isFresh("kept"), "it is as long as its header says")
    let whole = try #require(directory.read("default/index.mdb"))
    let pageBytes = 4096
    var written = whole.count / pageBytes
    while whole[((written - 1) * pageBytes)..<(written * pageBytes)].allSatisfy({ $0 == 0 }) { written -= 1 }
    #expect(written < whole.count / pageBytes)
    directory.write(whole.prefix(written * pageBytes), to: "default/index.mdb")
    do {
      let cache = try makeCache(directory)
      #expect(try cache.isFresh("kept"))
      try cache.put("new", body(50_000))
      #expect(try cache.isFresh("new"))
    }
    #expect(try makeCache(directory).isFresh("new"))
    directory.write(whole.prefix((written - 1) * pageBytes), to: "default/index.mdb")
    expectRejection(asCut: true)
  }

  @Test func `after the folder is deleted, reads miss and writes recreate it`() throws {
    let cache = try makeCache(directory)
    try cache.put("small", body(10))
    try cache.put("large", body(400_000))
    let (small, large) = (try #require(try cache.head("small")), try #require(try cache.head("large")))
    try removeFolder("default")

    #expect(try cache.present(["small", "large"]) == [])
    for (name, head) in [("small", small), ("large", large)] {
      #expect(try cache.body(name, as: head) == nil)
    }
    #expect(try cache.totals().entries == 0)
    #expect(files(below: directory.path) == [], "reading creates nothing")
    #expect(!cache.takeRecreation())
    let key = cache.credentialHasher
    for (name, size) in [("new", 10), ("large", 400_000)] {
      try cache.put(name, body(size))
      #expect(try cache.cachedBody(name) == .bytes(body(size)))
    }
    #expect(cache.takeRecreation() && !cache.takeRecreation())
    #expect(try cache.counted() == (2, 400_010))
    let reopened = try makeCache(directory)
    #expect(try reopened.present(["small", "new", "large"]) == ["new", "large"])
    #expect(reopened.credentialHasher.hasSameKey(as: key), "identities with credentials stay the same")
  }

  @Test(arguments: ["all", "index.mdb", "index.mdb index.mdb-lock", "index.mdb-lock", "blobs", "blobs/tmp"])
  func `parts deleted under a running process are recreated, with what had arrived`(parts: String) throws {
    let cache = try makeCache(directory)
    let other = try makeCache(directory)
    try cache.put("old", body(400_000))
    // A body that arrived before, and one that arrives meanwhile.
    let staged = try cache.stage(body(500_000))
    let writer = try cache.makeBlobWriter()
    try body(300_000).withRawBytes { (bytes) throws(CacheError) in try writer.append(bytes) }
    for part in parts == "all" ? ["."] : parts.split(separator: " ") {
      #expect(try run("/bin/rm", "-rf", directory.file(part == "." ? "default" : "default/\(part)")) == 0)
    }
    try body(300_000).withRawBytes { (bytes) throws(CacheError) in try writer.append(bytes) }
    let late = try writer.finish()
    try cache.write { (writer) throws(CacheError) in
      try writer.put("staged", [], staged: staged)
      try writer.put("late", [], staged: late)
    }
    try cache.put("large", body(700_000))
    #expect(try cache.cachedBody("staged") == .bytes(body(500_000)))
    #expect(try cache.cachedBody("late") == .bytes(body(300_000) + body(300_000)))
    #expect(try cache.cachedBody("large") == .bytes(body(700_000)))
    // The other user of the process finds them once it writes.
    try other.put("small", body(10))
    #expect(try other.present(["staged", "late", "large", "small"]).count == 4)
    #expect(try cache.present(["small"]) == ["small"])
    let verified = try cache.verify()
    #expect(verified.damaged == (parts == "blobs" ? 1 : 0))
    let totals = try cache.totals()
    #expect(try cache.counted() == (totals.entries, totals.bodyBytes))
  }

  @Test func `two processes recreate a deleted folder, and write to the same one`() async throws {
    let cache = try makeCache(directory)
    let writing = Task.detached {
      var number = 0
      while !Task.isCancelled {
        // While the other process removes the folder, it can't be recreated.
        do throws(CacheError) { try cache.put("mine \(number % 50)", body(1000)) } catch { continue }
        number += 1
      }
    }
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      let cache = try openCache(path)
      for round in 0..<20 {
        try cache.put("before \(round)", body(10))
        // It fails if the other process creates files in the folder meanwhile.
        _ = try run("/bin/rm", "-rf", round % 2 == 0 ? "\(path)/default" : "\(path)/default/index.mdb")
        for entry in 0..<20 { try cache.put("\(round) \(entry)", body(100)) }
      }
    }
    writing.cancel()
    await writing.value
    try cache.put("last", body(10))
    #expect(try cache.present((0..<20).map { "19 \($0)" } + ["last"]).count == 21)
    let totals = try cache.totals()
    #expect(try cache.counted() == (totals.entries, totals.bodyBytes))
    #expect(try cache.verify().damaged == 0)
  }

  private func removeFolder(_ name: String) throws {
    for file in files(below: directory.file(name)) { unlink(directory.file("\(name)/\(file)")) }
    #expect(try run("/bin/rm", "-rf", directory.file(name)) == 0)
  }

  @Test func `network file systems are recognised by their numbers`() {
    #expect(FileSystemKind.networkName(ofMagic: 0x6969) == "NFS")
    #expect(FileSystemKind.networkName(ofMagic: 0xFF53_4D42) == "CIFS")
    #expect(FileSystemKind.networkName(ofMagic: Int(Int32(bitPattern: 0xFF53_4D42))) == "CIFS", "the number may be sign-extended")
    #expect(FileSystemKind.networkName(ofMagic: 0xEF53) == nil, "ext4")
    #expect(FileSystemKind.networkName(ofMagic: 0x0102_1994) == nil, "tmpfs")
    #expect(FileSystemKind.networkName(of: 0) == nil)
  }

  @Test func `a process with our ID in another namespace is detected`() throws {
    _ = try makeCache(directory)
    // Simulate such a process: lock the byte of its ID. Locks of an open file description conflict with our own like another
    // process's.
    let file = open(directory.file("default/index.mdb-lock"), O_RDWR | O_CLOEXEC)
    defer { close(file) }
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_start = off_t(getpid())
    lock.l_len = 1
    let setOpenFileLock: Int32 = 37
    #expect(fcntl(file, setOpenFileLock, &lock) == 0)
    #expect(rejection() == .foreignProcessNamespace(path: directory.file("default")))
    lock.l_type = Int16(F_UNLCK)
    #expect(fcntl(file, setOpenFileLock, &lock) == 0)
    #expect(rejection() == nil)
  }

  @Test func `every error says where it happened and what to do`() {
    let path = "/cache/default"
    let errors: [CacheError] = [
      .cannotMake(path: path, reason: "r"), .cannotOpen(path: path, reason: "r"), .cannotRead(path: path, reason: "r"),
      .cannotWrite(path: path, reason: "r"), .missing(path: path), .readOnly(path: path),
      .wrongVersion(path: path, found: "2", supported: 1), .networkFileSystem(path: path, name: "NFS"),
      .foreignProcessNamespace(path: path), .cut(path: path, expectedBytes: 2, actualBytes: 1), .deleted(path: path),
      .diskFull(path: path), .mapFull(path: path), .readersFull(path: path), .inUse(path: path, processes: [1, 2]),
      .damaged(path: path, reason: "r"), .storingStopped(path: path, reason: "r"), .other(path: path, reason: "r"),
      .cannotExport(path: path, reason: "r"),
    ]
    for error in errors {
      #expect(error.description.contains(path))
      #expect(error.description.contains(";") || error.description.contains(", where"), "\(error)")
      #expect(!error.description.hasSuffix("."))
    }
    let inUse = CacheError.inUse(path: path, processes: [1, 2])
    expectGolden("\(inUse)")
  }
}
