import Glibc
import Base
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct MemoryPressureTests {
  /// The text of a `memory.events` file.
  private func events(high: Int = 0, max: Int = 0, oom: Int = 0) -> String {
    "low 0\nhigh \(high)\nmax \(max)\noom \(oom)\noom_kill 0\noom_group_kill 0\n"
  }

  private let directory = TemporaryDirectory()

  private var sources: MemoryPressureSources {
    MemoryPressureSources(stallFiles: [directory.file("no/memory.pressure")], eventFiles: [directory.file("memory.events")])
  }

  @Test func `a rise of high, max or oom is pressure, and nothing else`() throws {
    directory.write(events(high: 5, max: 5, oom: 5), to: "memory.events")
    let calls = Watched(0)
    let monitor = try MemoryPressureMonitor(sources: sources) { calls.withLock { $0 += 1 } }
    #expect(monitor.watchedFile == directory.file("memory.events"))
    let texts = [events(high: 6, max: 5, oom: 5), events(high: 6, max: 6, oom: 5), events(high: 6, max: 6, oom: 6)]
    for (index, text) in texts.enumerated() {
      // The same counts again aren't pressure; otherwise there would be an extra call.
      directory.write(index == 0 ? events(high: 5, max: 5, oom: 5) : texts[index - 1], to: "memory.events")
      directory.write(text, to: "memory.events")
      try calls.wait(for: "call \(index + 1)") { $0 == index + 1 }
    }
    monitor.stop()
    #expect(calls.value == 3)
  }

  @Test func `a stall trigger's event is pressure`() throws {
    // Out-of-band data makes a socket ready for POLLPRI, like a file of stall information.
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { close(ends[1]) }
    let calls = Watched(0)
    let peer = ends[0]
    let watch = MemoryPressureWatch(
      path: "memory.pressure",
      descriptor: FileDescriptor(owning: peer),
      awaited: Int16(POLLPRI),
      events: nil
    )
    let monitor = try MemoryPressureMonitor(watching: watch) {
      var byte: UInt8 = 0
      recv(peer, &byte, 1, Int32(MSG_OOB))
      calls.withLock { $0 += 1 }
    }
    for call in 1...2 {
      #expect(send(ends[1], "x", 1, Int32(MSG_OOB)) == 1)
      try calls.wait(for: "call \(call)") { $0 == call }
    }
    monitor.stop()
    #expect(calls.value == 2)
  }

  @Test(.enabled(if: access("/proc/pressure/memory", R_OK | W_OK) == 0))
  func `the kernel accepts the trigger`() throws {
    let monitor = try MemoryPressureMonitor(sources: .init(stallFiles: ["/proc/pressure/memory"], eventFiles: [])) {}
    #expect(monitor.watchedFile == "/proc/pressure/memory")
  }

  @Test func `if nothing can be watched, the error names each file and the reason`() throws {
    directory.write("populated 1\n", to: "memory.events")
    let error = try #require(throws: MemoryPressureMonitor.Unavailable.self) {
      _ = try MemoryPressureMonitor(sources: sources) {}
    }
    expectGolden(error.description)
  }

  @Test(arguments: [true, false]) func `stop ends the thread and all callbacks`(explicitly: Bool) throws {
    final class Token: Sendable {}
    directory.write(events(), to: "memory.events")
    var token: Token? = Token()
    weak let held = token
    var monitor: MemoryPressureMonitor? = try MemoryPressureMonitor(sources: sources) { [token] in _ = token }
    token = nil
    #expect(held != nil)
    if explicitly {
      monitor?.stop()
      monitor?.stop()
    }
    if !explicitly { monitor = nil }
    // Only the thread retained the objects that the closure captures.
    #expect(held == nil)
    withExtendedLifetime(monitor) {}
  }

  @Test func `the closure may release its monitor`() throws {
    directory.write(events(), to: "memory.events")
    let holder = Watched<MemoryPressureMonitor?>(nil)
    let calls = Watched(0)
    let start = {
      let monitor = try MemoryPressureMonitor(sources: sources) {
        let last = holder.withLock { $0.take() }
        last?.stop()
        calls.withLock { $0 += 1 }
      }
      holder.withLock { $0 = monitor }
    }
    try start()
    directory.write(events(max: 1), to: "memory.events")
    try calls.wait(for: "a call") { $0 == 1 }
    #expect(holder.value == nil)
  }

  @Test func `memory.events is parsed completely or not at all`() {
    #expect(MemoryEvents("low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\n") == MemoryEvents(high: 2, max: 3, oom: 4))
    #expect(MemoryEvents("oom 4\nmax 3\nhigh 2") == MemoryEvents(high: 2, max: 3, oom: 4))
    for text in ["", "low 1\nhigh 2\nmax 3\n", "high x\nmax 3\noom 4\n", "high -1\nmax 3\noom 4\n"] {
      #expect(MemoryEvents(text) == nil)
    }
    let counts = MemoryEvents(high: 2, max: 3, oom: 4)
    #expect(!counts.hasRisen(since: counts) && !counts.hasRisen(since: MemoryEvents(high: 3, max: 4, oom: 5)))
  }

  @Test(
    arguments: [
      ("0::/system.slice/a.service", "/", "/sys/fs/cgroup/system.slice/a.service"),
      ("0::/", "/", "/sys/fs/cgroup"),
      ("4:memory:/x\n0::/docker/1f/child", "/docker/1f", "/sys/fs/cgroup/child"),
      ("0::/docker/1f", "/docker/1f", "/sys/fs/cgroup"),
      ("0::/docker/1f0", "/docker/1f", nil),
      ("4:memory:/x", "/", nil),
    ]
  )
  func `the control group's folder is found`(membership: String, root: String, expected: String?) {
    let mounts = """
      31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
      35 31 0:32 \(root) /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
      """
    #expect(ControlGroup.folder(membership: membership, mounts: mounts) == expected)
    #expect(ControlGroup.folder(membership: membership, mounts: "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw") == nil)
  }
}
