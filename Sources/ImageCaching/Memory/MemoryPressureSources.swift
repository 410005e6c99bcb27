import Glibc

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
