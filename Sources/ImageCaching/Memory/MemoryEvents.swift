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
