import Foundation
import Glibc
import Base
import TestSupport
import Testing

@testable import ImageCaching

/// Runs a command to completion and returns its status.
func run(_ command: String, _ arguments: String...) throws -> Int32 {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: command)
  process.arguments = arguments
  process.standardError = FileHandle.nullDevice
  try process.run()
  process.waitUntilExit()
  return process.terminationStatus
}

/// A cache at a path, for the processes that tests start.
func openCache(_ path: String, access: ImageCache.Access = .readWrite) throws(CacheError) -> ImageCache {
  try ImageCache(ImageCache.Configuration(directory: path, access: access))
}

/// Takes `count` reader slots by nested reads, and calls `innermost` when all are taken.
func nestReads(_ cache: ImageCache, _ count: Int, _ innermost: () -> Void = {}) throws(CacheError) {
  try cache.read { (_) throws(CacheError) in
    if count > 1 { try nestReads(cache, count - 1, innermost) } else { innermost() }
  }
}

@Suite struct ProcessTests {
  let directory = TemporaryDirectory()

  @Test(arguments: [false, true])
  func `a process that crashes in a transaction leaves its committed entries and correct totals`(whileOpenHere: Bool) async throws
  {
    let before = whileOpenHere ? try openCache(directory.path) : nil
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = directory.path as String] in
      let cache = try openCache(path)
      try cache.put("small", body(1000))
      try cache.put("large", body(400_000))
      let unfinished = try cache.makeBlobWriter()
      try body(1000).withRawBytes { (bytes) throws(CacheError) in try unfinished.append(bytes) }
      try cache.write { (writer) throws(CacheError) in
        try writer.put("lost", body(400_000))
        try writer.put("small", body(20))
        kill(getpid(), SIGKILL)
      }
    }
    #expect(blobs(directory).count == 3, "one stored, one without record, one unfinished")
    let cache = try openCache(directory.path)
    #expect(try cache.cachedBody("small") == .bytes(body(1000)))
    #expect(try cache.cachedBody("large") == .bytes(body(400_000)))
    #expect(try cache.lookUp("lost") == .missing)
    #expect(try cache.totals() == CacheTotals(entries: 2, bodyBytes: 401_000, blacklistEntries: 0))
    #expect(try cache.sweepBlobs() == 1)
    #expect(blobs(directory).count == 1)
    try cache.put("next", body(10))
    #expect(try cache.isFresh("next"))
    withExtendedLifetime(before) {}
  }

  @Test func `clearing reports which process has the cache open`() async throws {
    let cache = try openCache(directory.path)
    try cache.put("a", body(10))
    await #expect(processExitsWith: .success) { [path = directory.path as String, parent = getpid() as Int32] in
      let cache = try openCache(path)
      let inUse = CacheError.inUse(path: cache.path, processes: [Int(parent)])
      #expect(throws: inUse) { try cache.clear() }
      #expect(throws: inUse) { try cache.compact() }
      #expect(try cache.isFresh("a"))
    }
    #expect(try cache.clear().entries == 1)
  }

  @Test func `a cache that another process holds exclusively is in use`() throws {
    _ = try openCache(directory.path)
    let lock = open(directory.file("default/use.lock"), O_RDWR | O_CLOEXEC)
    #expect(flock(lock, LOCK_EX) == 0)
    for access in [ImageCache.Access.readOnly, .readWrite] {
      #expect(throws: CacheError.inUse(path: directory.file("default"), processes: [])) {
        try openCache(directory.path, access: access)
      }
    }
    // Closing it isn't enough: a process that is being started may still share it.
    flock(lock, LOCK_UN)
    close(lock)
    _ = try openCache(directory.path)
  }

  @Test func `the holders of a lock are read from the kernel's list`() {
    let list = """
      1: POSIX  ADVISORY  WRITE 11 fe:00:1234 0 EOF
      2: FLOCK  ADVISORY  READ 12 fe:00:1234 0 EOF
      2: -> FLOCK  ADVISORY  WRITE 13 fe:00:1234 0 EOF
      3: FLOCK  ADVISORY  WRITE 14 fe:01:1234 0 EOF
      4: FLOCK  ADVISORY  READ 15 fe:00:1235 0 EOF
      5: FLOCK  ADVISORY  READ 16 fe:00:1234 0 EOF
      """
    #expect(UseLock.holders(in: list, device: 0xFE00, inode: 1234) == [12, 16])
  }

  @Test func `a map that another process has outgrown is resized`() async throws {
    _ = try openCache(directory.path)
    let folder = try CacheFolder(directory: directory.path, namespace: "default", access: .readWrite)
    let small = IndexEnvironment(try OpenedIndex(folder, access: .readWrite, mapByteCount: 1 << 20), folder: folder, useLock: nil)
    func count() throws -> Int {
      try small.totals().shown.entries
    }
    #expect(try count() == 0)
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      let cache = try openCache(path)
      for number in 0..<40 { try cache.put("\(number)", body(100_000)) }
    }
    #expect(try count() == 40)
    try small.write { (transaction) throws(CacheError) in transaction.totals.entries += 1 }
    #expect(try count() == 41)
  }

  @Test func `a full map fails only the batch`() throws {
    _ = try openCache(directory.path)
    let folder = try CacheFolder(directory: directory.path, namespace: "default", access: .readWrite)
    let small = IndexEnvironment(try OpenedIndex(folder, access: .readWrite, mapByteCount: 1 << 20), folder: folder, useLock: nil)
    func put(_ count: Int) throws(CacheError) {
      try small.write { (transaction) throws(CacheError) in
        let writer = CacheWriter(
          transaction: transaction,
          blacklistTTL: nil,
          expiry: ExpiryRule(maxAge: nil, basis: .modification),
          now: Timestamp(milliseconds: 1)
        )
        for number in 0..<count { try writer.put("\(number)", body(100_000)) }
      }
    }
    try put(2)
    #expect(throws: CacheError.mapFull(path: folder.path)) { try put(20) }
    try put(3)
    #expect(try small.totals().entries == 3)
  }

  @Test func `after a failed write nothing more is stored, and reads continue`() throws {
    let cache = try openCache(directory.path)
    try cache.put("a", body(10))
    let index = directory.file("default/index.mdb")
    let numbers = descriptors(of: index)
    let (readable, writable) = (open(index, O_RDONLY | O_CLOEXEC), open(index, O_RDWR | O_CLOEXEC))
    defer { for number in [readable, writable] { close(number) } }

    for number in numbers { dup2(readable, number) }
    let stopped = CacheError.storingStopped(path: cache.path, reason: "Bad file descriptor")
    #expect(throws: stopped) { try cache.put("b", body(10)) }
    for number in numbers { dup2(writable, number) }
    #expect(throws: stopped) { try cache.put("c", body(10)) }
    #expect(try cache.present(["a", "b", "c"]) == ["a"])
    #expect(try cache.cachedBody("a") == .bytes(body(10)))
  }

  /// This process's descriptors of a file.
  private func descriptors(of path: String) -> [Int32] {
    (3..<Int32(1024)).filter { number in
      var target = [UInt8](repeating: 0, count: 4096)
      let count = target.withUnsafeMutableBytes { readlink("/proc/self/fd/\(number)", $0.baseAddress!, $0.count) }
      return count > 0 && String(decoding: target.prefix(count), as: UTF8.self) == path
    }
  }

  @Test func `one reader too many is rejected`() throws {
    let cache = try openCache(directory.path)
    try nestReads(cache, 1022)
    #expect(throws: CacheError.readersFull(path: cache.path)) { try nestReads(cache, 1023) }
    try nestReads(cache, 1022)
  }

  @Test func `the slots of crashed readers are reused`() async throws {
    let cache = try openCache(directory.path)
    try nestReads(cache, 1)
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = directory.path as String] in
      try nestReads(try openCache(path), 1021) { kill(getpid(), SIGKILL) }
    }
    try nestReads(cache, 1022)
  }

  @Test func `a process with little address space gets a smaller map`() async throws {
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      var limit = rlimit(rlim_cur: 8 << 30, rlim_max: 8 << 30)
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
      let cache = try openCache(path)
      try cache.put("a", body(10))
      #expect(try cache.isFresh("a"))
    }
  }

  @Test func `readers and a writer of one process don't disturb each other`() async throws {
    let cache = try openCache(directory.path)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          for _ in 0..<2000 {
            let heads = try cache.read { (reader) throws(CacheError) -> [LookUp] in
              [try reader.lookUp("0"), try reader.lookUp("1")]
            }
            let sizes = heads.map { if case .fresh(let head) = $0 { head.bodySize } else { UInt64.max } }
            #expect(sizes[0] == sizes[1], "a reader sees one state")
          }
        }
      }
      for size in 0..<100 {
        try cache.write { (writer) throws(CacheError) in
          for number in 0..<2 { try writer.put("\(number)", body(size)) }
        }
      }
      try await group.waitForAll()
    }
  }
}
