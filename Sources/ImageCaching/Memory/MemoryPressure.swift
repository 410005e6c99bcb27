import CLinux
import Glibc
import ImagePrimitives
import Synchronization
import Threads

/// Calls a closure when memory is short, to empty a ``MemoryCache`` for example.
///
/// It asks the kernel to wake it and never polls by a clock. Pressure stall information is best: it tells that work waits for
/// memory. Where the kernel gives no trigger on it, the counts `high`, `max` and `oom` of the control group's `memory.events` stand in; they
/// rise also where only the page cache is pressed against the group's limit.
public final class MemoryPressureMonitor: Sendable {
  /// Nothing tells of memory pressure here.
  public struct Unavailable: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence that names each file that was tried, and why it does not do.
    public let description: String
  }

  /// The file that is watched: the first of the sources that can be.
  public let watchedFile: String

  private let stopping: StopSignal
  private let thread: Mutex<WorkerThread?>

  /// Begins to watch, on a thread of its own.
  ///
  /// - Parameters:
  ///   - sources: Where to look; the first file that can be watched is, those of stall information before the others.
  ///   - onPressure: Called on that thread when memory is short: by stall information at most once in two seconds. It may let go of
  ///     the monitor, and may stop it.
  /// - Throws: ``Unavailable`` where none of the files can be watched, or the system gives no thread.
  public convenience init(
    sources: MemoryPressureSources = .system,
    onPressure: @escaping @Sendable () -> Void
  ) throws(Unavailable) {
    try self.init(watching: try Self.firstWatch(of: sources), onPressure: onPressure)
  }

  /// Watches an open file.
  init(watching watch: consuming MemoryPressureWatch, onPressure: @escaping @Sendable () -> Void) throws(Unavailable) {
    watchedFile = watch.path
    do throws(ThreadError) {
      let stopping = StopSignal(event: try WakeEvent())
      let loop = MemoryPressureLoop(watch: watch, stopping: stopping, onPressure: onPressure)
      self.stopping = stopping
      thread = Mutex(try WorkerThread(name: "memory pressure") { loop.run() })
    } catch {
      throw Unavailable(description: "memory pressure cannot be watched: \(error)")
    }
  }

  deinit { stop() }

  /// Ends the watching: no call begins after this one has returned, and none still runs, except that which itself stops the monitor.
  public func stop() {
    stopping.send()
    // Joined outside the lock, since the closure that is waited for may call this too.
    thread.withLock { $0.take() }?.join()
  }

  private static func firstWatch(of sources: MemoryPressureSources) throws(Unavailable) -> MemoryPressureWatch {
    var reasons: [String] = []
    for path in sources.stallFiles {
      do throws(MemoryPressureWatch.Refusal) { return try MemoryPressureWatch(stallFile: path) } catch {
        reasons.append("\(path) (\(error.reason))")
      }
    }
    for path in sources.eventFiles {
      do throws(MemoryPressureWatch.Refusal) { return try MemoryPressureWatch(eventFile: path) } catch {
        reasons.append("\(path) (\(error.reason))")
      }
    }
    let tried = reasons.isEmpty ? "no file was named" : "tried " + reasons.joined(separator: ", ")
    throw Unavailable(description: "memory pressure cannot be watched here: \(tried); limit the memory cache's cost instead")
  }
}

/// What the thread of a monitor runs. It outlives the monitor where the closure lets go of that.
private final class MemoryPressureLoop: Sendable {
  private let watch: Mutex<MemoryPressureWatch>
  private let stopping: StopSignal
  private let onPressure: @Sendable () -> Void

  init(watch: consuming MemoryPressureWatch, stopping: StopSignal, onPressure: @escaping @Sendable () -> Void) {
    self.watch = Mutex(watch)
    self.stopping = stopping
    self.onPressure = onPressure
  }

  func run() {
    var descriptors = watch.withLock { watch in
      [
        pollfd(fd: stopping.event.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: watch.descriptor.number, events: watch.awaited, revents: 0),
      ]
    }
    while true {
      _ = uninterrupted { poll(&descriptors, nfds_t(descriptors.count), -1) }
      if descriptors[0].revents != 0 { return }
      switch watch.withLock({ $0.finding(descriptors[1].revents) }) {
      case .pressure: onPressure()
      case .nothing: break
      case .gone: return
      }
    }
  }
}

/// Tells a thread that sleeps in `poll` to end.
private final class StopSignal: Sendable {
  let event: WakeEvent

  init(event: WakeEvent) { self.event = event }

  func send() { event.signal() }
}

/// One file that tells of memory pressure, opened: what to `poll` for, and what an event on it means.
struct MemoryPressureWatch: ~Copyable, Sendable {
  /// Why a file cannot be watched, in a few words.
  struct Refusal: Error { let reason: String }

  /// What the poll of a watched file brought.
  enum Finding { case pressure, nothing, gone }

  /// The trigger: tasks stalled for 200 ms within 2 s, as systemd's MEMORY_PRESSURE_WRITE asks for by default. Who has not
  /// CAP_SYS_RESOURCE may ask only for windows of whole two seconds (`psi.rst`).
  static let trigger = "some 200000 2000000"

  let path: String
  let descriptor: FileDescriptor
  /// What to poll the descriptor for.
  let awaited: Int16
  /// The counts when they were last read; nil for stall information.
  private var events: MemoryEvents?

  /// Puts a trigger on a file of pressure stall information.
  init(stallFile path: String) throws(Refusal) {
    let number = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { throw Refusal(reason: errorSentence()) }
    let descriptor = FileDescriptor(owning: number)
    // The kernel takes the end of the string along with it.
    let isTaken = Self.trigger.withCString { text in
      writeAll(UnsafeRawBufferPointer(start: text, count: Self.trigger.utf8.count + 1), to: number)
    }
    guard isTaken else { throw Refusal(reason: "it takes no trigger: \(errorSentence())") }
    self.init(path: path, descriptor: descriptor, awaited: Int16(POLLPRI), events: nil)
  }

  /// Watches the counts of a file `memory.events`, of whose changes inotify tells.
  init(eventFile path: String) throws(Refusal) {
    let number = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard number >= 0 else { throw Refusal(reason: errorSentence()) }
    let descriptor = FileDescriptor(owning: number)
    guard inotify_add_watch(number, path, UInt32(IN_MODIFY)) >= 0 else { throw Refusal(reason: errorSentence()) }
    guard let text = readText(path) else { throw Refusal(reason: errorSentence()) }
    guard let events = MemoryEvents(text) else { throw Refusal(reason: "it does not count high, max and oom") }
    self.init(path: path, descriptor: descriptor, awaited: Int16(POLLIN), events: events)
  }

  /// A descriptor that a test made: it is watched as stall information is.
  init(path: String, descriptor: consuming FileDescriptor, awaited: Int16, events: MemoryEvents?) {
    self.path = path
    self.descriptor = descriptor
    self.awaited = awaited
    self.events = events
  }

  /// What a poll that returned `returned` means.
  mutating func finding(_ returned: Int16) -> Finding {
    guard let earlier = events else {
      // POLLERR: the control group is gone.
      if returned & Int16(POLLERR | POLLNVAL) != 0 { return .gone }
      return returned & awaited != 0 ? .pressure : .nothing
    }
    let isWatched = drain()
    guard let now = readText(path).flatMap({ MemoryEvents($0) }) else { return isWatched ? .nothing : .gone }
    events = now
    return now.hasRisen(since: earlier) ? .pressure : isWatched ? .nothing : .gone
  }

  /// Reads what inotify has to tell; false once it has told that the file is gone.
  private func drain() -> Bool {
    var isWatched = true
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
      while true {
        let count = uninterrupted { read(descriptor.number, buffer.baseAddress, buffer.count) }
        if count <= 0 { return }
        var offset = 0
        while offset < count {
          let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
          if event.mask & UInt32(IN_IGNORED) != 0 { isWatched = false }
          offset += MemoryLayout<inotify_event>.size + Int(event.len)
        }
      }
    }
    return isWatched
  }
}

/// The files in which the system tells that memory is short, the best first.
public struct MemoryPressureSources: Sendable, Hashable {
  /// Files of pressure stall information, which take a trigger (the kernel's `Documentation/accounting/psi.rst`).
  public var stallFiles: [String]

  /// Files `memory.events` of control groups (the kernel's `Documentation/admin-guide/cgroup-v2.rst`).
  public var eventFiles: [String]

  /// Sources of those files; each list the best first.
  public init(stallFiles: [String], eventFiles: [String]) {
    self.stallFiles = stallFiles
    self.eventFiles = eventFiles
  }

  /// Those of this process: its control group's `memory.pressure`, the whole system's `/proc/pressure/memory`, and its control
  /// group's `memory.events`.
  public static var system: MemoryPressureSources {
    let controlGroup = ControlGroup.folder(
      membership: readText("/proc/self/cgroup") ?? "",
      mounts: readText("/proc/self/mountinfo", limit: 1 << 20) ?? ""
    )
    return MemoryPressureSources(
      stallFiles: (controlGroup.map { ["\($0)/memory.pressure"] } ?? []) + ["/proc/pressure/memory"],
      eventFiles: controlGroup.map { ["\($0)/memory.events"] } ?? []
    )
  }
}

/// The text of a file, up to `limit` bytes of it; nil where it cannot be read.
func readText(_ path: String, limit: Int = 4096) -> String? {
  let number = open(path, O_RDONLY | O_CLOEXEC)
  guard number >= 0 else { return nil }
  let file = FileDescriptor(owning: number)
  return readAll(file.number, limit: limit).map { String(decoding: $0, as: UTF8.self) }
}

/// Where the control group of this process lies, by what the system says of it.
enum ControlGroup {
  /// The folder of the process's group in the unified hierarchy (cgroup v2); nil where it has none that is mounted.
  ///
  /// - Parameters:
  ///   - membership: The text of `/proc/self/cgroup`, where the line `0::/PATH` is the unified hierarchy's (cgroups(7)).
  ///   - mounts: The text of `/proc/self/mountinfo` (proc(5)): fields 4 and 5 are the folder of the hierarchy that is mounted, which in a
  ///     container need not be its root, and the mount point; behind a lone dash comes the file system's type.
  static func folder(membership: String, mounts: String) -> String? {
    guard let line = membership.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
    let group = line.dropFirst("0::".count)
    for mount in mounts.split(separator: "\n") {
      let fields = mount.split(separator: " ")
      guard let dash = fields.firstIndex(of: "-"), dash >= 6, dash + 1 < fields.count, fields[dash + 1] == "cgroup2" else {
        continue
      }
      guard let path = path(of: group, below: fields[3]) else { continue }
      return (String(fields[4]) + path).dropSlashes
    }
    return nil
  }

  /// What is left of `group` below `root`; nil where it lies elsewhere.
  private static func path(of group: Substring, below root: Substring) -> Substring? {
    if root == "/" { return group }
    guard group.hasPrefix(root) else { return nil }
    let rest = group.dropFirst(root.count)
    return rest.isEmpty || rest.hasPrefix("/") ? rest : nil
  }
}

extension String {
  /// Without slashes at its end.
  fileprivate var dropSlashes: String {
    var text = self[...]
    while text.last == "/" { text = text.dropLast() }
    return String(text)
  }
}

/// How often a control group was short of memory, as its `memory.events` counts it (the kernel's `admin-guide/cgroup-v2.rst`).
struct MemoryEvents: Sendable, Equatable {
  /// How often its processes were throttled because it was above `memory.high`.
  var high: UInt64
  /// How often it was about to go above `memory.max`.
  var max: UInt64
  /// How often an allocation was about to fail.
  var oom: UInt64

  init(high: UInt64, max: UInt64, oom: UInt64) {
    self.high = high
    self.max = max
    self.oom = oom
  }

  /// The counts in the text of the file, a line `NAME COUNT` each; nil where one is missing, as in a file that is being written.
  init?(_ text: String) {
    var counts: [Substring: UInt64] = [:]
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ")
      if fields.count == 2, let count = UInt64(fields[1]) { counts[fields[0]] = count }
    }
    guard let high = counts["high"], let max = counts["max"], let oom = counts["oom"] else { return nil }
    self.init(high: high, max: max, oom: oom)
  }

  /// Whether any count has risen since.
  func hasRisen(since earlier: MemoryEvents) -> Bool { high > earlier.high || max > earlier.max || oom > earlier.oom }
}
