import Foundation
public import Glibc

/// A process's current resources, from `/proc`, for tests that look for leaks.
public struct ProcessUsage: Sendable, Equatable {
  /// The number of open descriptors. For this process, the one used for counting is excluded.
  public let descriptors: Int
  public let threads: Int
  /// The resident memory in bytes (VmRSS).
  public let residentBytes: Int
  /// The peak of resident memory, in bytes (VmHWM).
  public let peakResidentBytes: Int

  /// The usage of the process with that ID, by default this one; nil if it doesn't exist.
  public init?(of processID: pid_t = getpid()) {
    guard
      let status = readFile("/proc/\(processID)/status"),
      let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/fd")
    else { return nil }
    let lines = String(decoding: status, as: UTF8.self).split(separator: "\n")
    func number(_ field: String) -> Int {
      let line = lines.first { $0.hasPrefix(field + ":") }
      return line.flatMap { Int($0.drop { !$0.isNumber }.prefix { $0.isNumber }) } ?? 0
    }
    descriptors = open.count - (processID == getpid() ? 1 : 0)
    threads = number("Threads")
    residentBytes = number("VmRSS") * 1024
    peakResidentBytes = number("VmHWM") * 1024
  }
}
