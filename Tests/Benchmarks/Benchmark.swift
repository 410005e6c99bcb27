import CCounting

/// A benchmark of an inner part, whose instructions are counted.
struct Benchmark {
  /// The name in lower case, as in the table of thresholds.
  let name: String
  /// The number of operations in a run, by which the count is divided.
  let operations: Int
  /// Prepares the benchmark and returns the code to count, which is called twice: once to warm up, then counted.
  let prepare: (Workspace) throws -> () throws -> Void

  /// Runs the benchmark; callgrind, if present, writes a file with its name.
  func run(in workspace: Workspace) throws {
    let body = try prepare(workspace)
    try body()
    counting_begin()
    defer { counting_end(name) }
    try body()
  }
}

/// Prevents the compiler from optimising away unused results.
@inline(never)
@_optimize(none)
func keep<Value>(_ value: borrowing Value) {}
