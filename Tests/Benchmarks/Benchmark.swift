import CCounting

/// One inner part whose instructions are counted.
struct Benchmark {
  /// Lower-case words, as the thresholds name it.
  let name: String
  /// How often what is counted does the one thing that the count is of.
  let operations: Int
  /// Makes all that is needed, and returns what is counted. That is called twice: once to warm up, then counted.
  let prepare: (Workplace) throws -> () throws -> Void

  /// Runs it; callgrind, where it runs this, writes a file of that name.
  func run(in place: Workplace) throws {
    let body = try prepare(place)
    try body()
    counting_begin()
    defer { counting_end(name) }
    try body()
  }
}

/// Keeps the compiler from leaving out what nobody looks at.
@inline(never)
@_optimize(none)
func keep<Value>(_ value: borrowing Value) {}
