import Platform
import Base
import Synchronization

/// Calls a closure when memory is short, for example to empty a memory cache.
///
/// The kernel wakes it, so it never polls by time. Pressure stall information is preferred, since it shows that tasks wait for
/// memory. If the kernel provides no trigger for it, the counts `high`, `max` and `oom` of the control group's `memory.events` are
/// used instead; they also increase if only the page cache reaches the group's limit.
package final class MemoryPressureMonitor: Sendable {
  /// Memory pressure can't be watched on this system.
  package struct Unavailable: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence with each file that was tried, and why it can't be used.
    package let description: String
  }

  /// The watched file: the first of the sources that can be watched.
  package let watchedFile: String

  private let stopping: WakeEvent
  private let thread: Mutex<WorkerThread?>

  /// Starts watching on a thread of its own.
  ///
  /// - Parameters:
  ///   - sources: The files to try, those with stall information first; the first usable one is watched.
  ///   - onPressure: Called on that thread when memory is short: with stall information at most once in two seconds. It may release
  ///     and stop the monitor.
  /// - Throws: ``Unavailable`` if none of the files can be watched, or the system can't start a thread.
  package convenience init(
    sources: MemoryPressureSources = .system,
    onPressure: @escaping @Sendable () -> Void
  ) throws(Unavailable) {
    try self.init(watching: try Self.firstWatch(of: sources), onPressure: onPressure)
  }

  init(watching watch: MemoryPressureWatch, onPressure: @escaping @Sendable () -> Void) throws(Unavailable) {
    watchedFile = watch.path
    do throws(ThreadError) {
      let stopping = try WakeEvent()
      self.stopping = stopping
      // The thread outlives the monitor if the closure releases it.
      thread = Mutex(try WorkerThread(name: "memory pressure") { Self.run(watch, until: stopping, onPressure) })
    } catch {
      throw Unavailable(description: "cannot watch memory pressure: \(error)")
    }
  }

  deinit { stop() }

  /// Stops watching: no call starts after this returns, and none is running, except a call that itself stops the monitor.
  package func stop() {
    stopping.signal()
    // Join outside the lock, since the closure may call this too.
    thread.withLock { $0.take() }?.join()
  }

  private static func firstWatch(of sources: MemoryPressureSources) throws(Unavailable) -> MemoryPressureWatch {
    var reasons: [String] = []
    for (path, hasTrigger) in sources.stallFiles.map({ ($0, true) }) + sources.eventFiles.map({ ($0, false) }) {
      do throws(MemoryPressureWatch.SetupError) {
        return try hasTrigger ? MemoryPressureWatch(stallFile: path) : MemoryPressureWatch(eventFile: path)
      } catch {
        reasons.append("\(path) (\(error.reason))")
      }
    }
    let tried = reasons.isEmpty ? "no files were given" : "tried " + reasons.joined(separator: ", ")
    throw Unavailable(description: "cannot watch memory pressure on this system: \(tried); limit the memory cache's cost instead")
  }

  private static func run(_ watch: MemoryPressureWatch, until stopping: WakeEvent, _ onPressure: () -> Void) {
    var events = watch.events
    var descriptors = [
      pollfd(fd: stopping.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: watch.descriptor.number, events: watch.awaited, revents: 0),
    ]
    while true {
      _ = uninterrupted { poll(&descriptors, nfds_t(descriptors.count), -1) }
      if descriptors[0].revents != 0 { return }
      switch watch.finding(descriptors[1].revents, since: &events) {
      case .pressure: onPressure()
      case .nothing: break
      case .gone: return
      }
    }
  }
}

/// An open file that reports memory pressure: the events to `poll` for, and their meaning.
final class MemoryPressureWatch: Sendable {
  struct SetupError: Error { let reason: String }

  enum Finding { case pressure, nothing, gone }

  /// The trigger: tasks stalled for 200 ms within 2 s, the default of systemd's MEMORY_PRESSURE_WRITE. Without CAP_SYS_RESOURCE,
  /// windows must be multiples of two seconds (`psi.rst`).
  static let trigger = "some 200000 2000000"

  let path: String
  let descriptor: FileDescriptor
  let awaited: Int16
  /// The counts at the start; nil for stall information.
  let events: MemoryEvents?

  /// Registers a trigger with a file of pressure stall information.
  convenience init(stallFile path: String) throws(SetupError) {
    let number = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { throw SetupError(reason: errorSentence()) }
    let descriptor = FileDescriptor(owning: number)
    // The kernel requires the terminating zero.
    let isTaken = Self.trigger.withCString { text in
      writeAll(UnsafeRawBufferPointer(start: text, count: Self.trigger.utf8.count + 1), to: number)
    }
    guard isTaken else { throw SetupError(reason: "it accepts no trigger: \(errorSentence())") }
    self.init(path: path, descriptor: descriptor, awaited: Int16(POLLPRI), events: nil)
  }

  /// Watches the counts in a file `memory.events` through inotify.
  convenience init(eventFile path: String) throws(SetupError) {
    #if os(Linux)
    let number = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard number >= 0 else { throw SetupError(reason: errorSentence()) }
    let descriptor = FileDescriptor(owning: number)
    guard inotify_add_watch(number, path, UInt32(IN_MODIFY)) >= 0 else { throw SetupError(reason: errorSentence()) }
    guard let text = readText(path) else { throw SetupError(reason: errorSentence()) }
    guard let events = MemoryEvents(text) else { throw SetupError(reason: "it lacks the counts high, max and oom") }
    self.init(path: path, descriptor: descriptor, awaited: Int16(POLLIN), events: events)
    #else
    throw SetupError(reason: "only Linux has such files")
    #endif
  }

  /// Watches a test's descriptor like stall information.
  init(path: String, descriptor: consuming FileDescriptor, awaited: Int16, events: MemoryEvents?) {
    self.path = path
    self.descriptor = descriptor
    self.awaited = awaited
    self.events = events
  }

  /// The meaning of a poll's returned events, with the last counts.
  func finding(_ returned: Int16, since events: inout MemoryEvents?) -> Finding {
    guard let earlier = events else {
      // POLLERR means that the control group was removed.
      if returned & Int16(POLLERR | POLLNVAL) != 0 { return .gone }
      return returned & awaited != 0 ? .pressure : .nothing
    }
    let isWatched = drain()
    guard let now = readText(path).flatMap({ MemoryEvents($0) }) else { return isWatched ? .nothing : .gone }
    events = now
    return now.hasRisen(since: earlier) ? .pressure : isWatched ? .nothing : .gone
  }

  /// Reads inotify's events; false once one says that the file was removed.
  private func drain() -> Bool {
    var isWatched = true
    #if os(Linux)
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
    #endif
    return isWatched
  }
}

/// The files in which the system reports memory pressure, the best first.
package struct MemoryPressureSources: Sendable, Hashable {
  /// Files of pressure stall information, which take a trigger (the kernel's `Documentation/accounting/psi.rst`).
  package var stallFiles: [String]

  /// Files `memory.events` of control groups (the kernel's `Documentation/admin-guide/cgroup-v2.rst`).
  package var eventFiles: [String]

  package init(stallFiles: [String], eventFiles: [String]) {
    self.stallFiles = stallFiles
    self.eventFiles = eventFiles
  }

  /// The files for this process: its control group's `memory.pressure`, the system's `/proc/pressure/memory`, and its control
  /// group's `memory.events`.
  package static var system: MemoryPressureSources {
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

enum ControlGroup {
  /// The folder of the process's group in the unified hierarchy (cgroup v2); nil if it isn't mounted.
  ///
  /// - Parameters:
  ///   - membership: The text of `/proc/self/cgroup`, where the line `0::/PATH` is the unified hierarchy's (cgroups(7)).
  ///   - mounts: The text of `/proc/self/mountinfo` (proc(5)): fields 4 and 5 are the mounted folder of the hierarchy, which in a container
  ///     may differ from its root, and the mount point; the file system's type follows a lone dash.
  static func folder(membership: String, mounts: String) -> String? {
    guard let line = membership.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
    let group = line.dropFirst("0::".count)
    for mount in mounts.split(separator: "\n") {
      let fields = mount.split(separator: " ")
      guard let dash = fields.firstIndex(of: "-"), dash >= 6, dash + 1 < fields.count, fields[dash + 1] == "cgroup2" else {
        continue
      }
      guard let path = path(of: group, below: fields[3]) else { continue }
      let folder = fields[4] + path
      return String(folder[..<(folder.lastIndex { $0 != "/" }.map(folder.index(after:)) ?? folder.startIndex)])
    }
    return nil
  }

  /// The path of `group` relative to `root`; nil if it isn't below.
  private static func path(of group: Substring, below root: Substring) -> Substring? {
    if root == "/" { return group }
    guard group.hasPrefix(root) else { return nil }
    let rest = group.dropFirst(root.count)
    return rest.isEmpty || rest.hasPrefix("/") ? rest : nil
  }
}

/// The counts in a control group's `memory.events` (the kernel's `admin-guide/cgroup-v2.rst`).
struct MemoryEvents: Sendable, Equatable {
  /// How often its processes were throttled because it was above `memory.high`.
  var high: UInt64
  /// How often it was about to go above `memory.max`.
  var max: UInt64
  /// How often an allocation was about to fail.
  var oom: UInt64

  func hasRisen(since earlier: MemoryEvents) -> Bool { high > earlier.high || max > earlier.max || oom > earlier.oom }
}

extension MemoryEvents {
  /// Parses the text of the file, a line `NAME COUNT` each; nil if a count is missing, as while the file is written.
  init?(_ text: String) {
    var counts: [Substring: UInt64] = [:]
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ")
      if fields.count == 2, let count = UInt64(fields[1]) { counts[fields[0]] = count }
    }
    guard let high = counts["high"], let max = counts["max"], let oom = counts["oom"] else { return nil }
    self.init(high: high, max: max, oom: oom)
  }
}
