// Waits, blocking or not, for at most ``Swift/Duration/patience`` by default.
extension Command {
  /// Runs a command to completion; the parameters are those of the initializer.
  public static func run(
    _ executable: String,
    _ arguments: [String] = [],
    environment: [String: String?] = [:],
    workingDirectory: String? = nil,
    input: Input = .none,
    output: Output = .captured,
    terminal: Terminal? = nil,
    timeout: Duration = .patience
  ) async throws -> Result {
    let command = try Command(
      executable,
      arguments,
      environment: environment,
      workingDirectory: workingDirectory,
      input: input,
      output: output,
      terminal: terminal
    )
    return try await command.wait(timeout: timeout)
  }

  /// Suspends until the process has ended and all of its output has been read.
  ///
  /// - Throws: ``WaitTimeout``, with the output so far.
  public func wait(timeout: Duration = .patience) async throws -> Result {
    try await wait(for: "the end of \(name)", timeout: timeout) { $0.isOver }
    return result(state.value)
  }

  /// Blocks until the process has ended and all of its output has been read.
  ///
  /// - Throws: ``WaitTimeout``, with the output so far.
  public func wait(timeout: Duration = .patience) throws -> Result {
    try wait(for: "the end of \(name)", timeout: timeout) { $0.isOver }
    return result(state.value)
  }

  /// Suspends until standard output, or the terminal, has contained `text` that many times.
  ///
  /// - Throws: ``WaitTimeout``, with the output so far, also if the process ended without it.
  public func waitForOutput(_ text: String, times: Int = 1, timeout: Duration = .patience) async throws {
    try await waitToSee(text, times, in: \.output, timeout: timeout)
  }

  /// Suspends until the whole standard output, or that of the terminal, satisfies `condition`.
  ///
  /// - Throws: ``WaitTimeout``, with the output so far, also if the process ended without it.
  public func waitForOutput(
    that what: String,
    timeout: Duration = .patience,
    _ condition: @escaping @Sendable (String) -> Bool
  ) async throws {
    let isMet = { @Sendable (state: State) in condition(String(decoding: state.output, as: UTF8.self)) }
    try await wait(for: "output that \(what) from \(name)", timeout: timeout) { $0.isOver || isMet($0) }
    if !isMet(state.value) { throw explained(WaitTimeout(description: "\(name) ended without output that \(what)")) }
  }

  /// Suspends until standard error has contained `text` that many times.
  ///
  /// - Throws: ``WaitTimeout``, with the output so far, also if the process ended without it.
  public func waitForError(_ text: String, times: Int = 1, timeout: Duration = .patience) async throws {
    try await waitToSee(text, times, in: \.error, timeout: timeout)
  }

  /// Suspends until standard output has at least `count` complete lines.
  public func waitForOutputLines(_ count: Int, timeout: Duration = .patience) async throws {
    try await wait(for: "\(count) lines from \(name)", timeout: timeout) { $0.outputLines >= count }
  }

  private func waitToSee(
    _ text: String,
    _ times: Int,
    in stream: any KeyPath<State, [UInt8]> & Sendable,
    timeout: Duration
  ) async throws {
    try await wait(for: "'\(text)' from \(name)", timeout: timeout) {
      $0.isOver || occurrences(of: text, in: $0[keyPath: stream]) >= times
    }
    guard occurrences(of: text, in: state.value[keyPath: stream]) < times else { return }
    throw explained(WaitTimeout(description: "\(name) ended without '\(text)'"))
  }

  private func result(_ state: State) -> Result {
    guard let ending = state.ending else { preconditionFailure("still running") }
    return Result(ending: ending, output: state.output, error: state.error)
  }

  private func wait(for what: String, timeout: Duration, until condition: @escaping @Sendable (State) -> Bool) async throws {
    do { try await state.wait(for: what, timeout: timeout, until: condition) } catch { throw explained(error) }
  }

  private func wait(for what: String, timeout: Duration, until condition: @escaping @Sendable (State) -> Bool) throws {
    do { try state.wait(for: what, timeout: timeout, until: condition) } catch { throw explained(error) }
  }

  private func explained(_ error: any Error) -> WaitTimeout {
    WaitTimeout(description: "\(error); its output: \(outputText.suffix(2000))\(errorText.suffix(2000))")
  }
}

private func occurrences(of text: String, in bytes: [UInt8]) -> Int {
  let pieces = String(decoding: bytes, as: UTF8.self).split(separator: text, omittingEmptySubsequences: false)
  return pieces.count - 1
}
