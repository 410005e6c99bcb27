/// The files in which the system tells that memory is short, best first.
public struct MemoryPressureSources: Sendable, Hashable {
  /// Pressure stall information (the kernel's `Documentation/accounting/psi.rst`): files that take a trigger.
  public var stallFiles: [String]

  /// `memory.events` files of control groups (the kernel's `Documentation/admin-guide/cgroup-v2.rst`).
  public var eventFiles: [String]

  /// These files.
  public init(stallFiles: [String], eventFiles: [String]) {
    self.stallFiles = stallFiles
    self.eventFiles = eventFiles
  }
}
