import Foundation
public import Glibc

/// An executable that runs as a separate process, with its input, output and exit status.
///
/// Two threads read its standard output and standard error, so neither pipe can fill up. It leads a new session, has default
/// handlers for all signals, and inherits only the first three descriptors. It is killed if the last reference is released before
/// it has ended.
public final class Command: Sendable {
  struct State: Sendable {
    var output: [UInt8] = []
    var error: [UInt8] = []
    var outputLines = 0
    var openStreams: Int
    var ending: Ending?

    /// Whether the process has ended and all of its output has been read.
    var isOver: Bool { ending != nil && openStreams == 0 }
  }

  public let processID: pid_t

  let name: String
  let state: Watched<State>
  private let input: WritingEnd

  /// Starts the executable at the path `executable`.
  ///
  /// - Parameters:
  ///   - environment: Added to the tests' environment; nil as a value removes a variable.
  ///   - workingDirectory: By default that of the tests.
  ///   - terminal: By default none. With a terminal, `input` is ignored: ``write(_:)`` types there.
  /// - Throws: ``SpawnFailure``.
  public init(
    _ executable: String,
    _ arguments: [String] = [],
    environment: [String: String?] = [:],
    workingDirectory: String? = nil,
    input: Input = .none,
    output: Output = .captured,
    terminal: Terminal? = nil
  ) throws {
    // The command may exit before it has read its input.
    signal(SIGPIPE, SIG_IGN)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let workingDirectory { Spawn.addChangeOfFolder(&actions, workingDirectory) }
    let plumbing = CommandPlumbing(input: input, output: output, terminal: terminal, actions: &actions)
    defer { plumbing.closeChildEnds() }
    var variables = ProcessInfo.processInfo.environment
    for (key, value) in environment { variables[key] = value }

    name = ([executable] + arguments).joined(separator: " ")
    self.input = WritingEnd(plumbing.input)
    state = Watched(State(openStreams: [plumbing.output, plumbing.error].count { $0 != nil }))
    do {
      processID = try spawn(executable, arguments, environment: variables, actions: &actions)
    } catch {
      for end in [plumbing.output, plumbing.error] { if let end { close(end) } }
      throw error
    }
    let limit = if case .closedAfter(let bytes) = output { bytes } else { Int.max }
    if let end = plumbing.output { Self.collect(from: end, limit: limit, into: state, append: Self.appendOutput) }
    if let end = plumbing.error { Self.collect(from: end, limit: .max, into: state) { $1.error += $0 } }
    Self.reap(processID, into: state)
    if case .bytes(let bytes) = input, terminal == nil {
      Thread.detachNewThread { [end = self.input] in
        _ = end.write(bytes)
        end.close()
      }
    }
  }

  deinit { kill() }
}

// The running process.
extension Command {
  /// Sends a signal; does nothing once the process has ended.
  public func send(_ signal: Int32) {
    state.withLock { state in
      if state.ending == nil { _ = Glibc.kill(processID, signal) }
    }
  }

  public func kill() { send(SIGKILL) }

  /// Writes to standard input, or types at the terminal; false if the process has closed it.
  @discardableResult
  public func write(_ bytes: some Sequence<UInt8>) -> Bool { input.write(Array(bytes)) }

  @discardableResult
  public func write(_ text: String) -> Bool { write(text.utf8) }

  public func closeInput() { input.close() }

  /// Resizes the terminal, which sends SIGWINCH.
  public func resizeTerminal(columns: Int, rows: Int) { input.resize(columns: columns, rows: rows) }

  /// The text from standard output, or from the terminal, so far.
  public var outputText: String { String(decoding: state.value.output, as: UTF8.self) }

  /// The number of complete lines from standard output so far.
  public var outputLineCount: Int { state.value.outputLines }

  public var errorText: String { String(decoding: state.value.error, as: UTF8.self) }

  public var isRunning: Bool { state.value.ending == nil }
}

// The threads, which don't retain the command.
extension Command {
  /// Reads to the end, or up to `limit` bytes, and closes.
  private static func collect(
    from end: Int32,
    limit: Int,
    into state: Watched<State>,
    append: @escaping @Sendable (ArraySlice<UInt8>, inout State) -> Void
  ) {
    Thread.detachNewThread {
      var chunk = [UInt8](repeating: 0, count: 65_536)
      var left = limit
      while left > 0 {
        let count = Glibc.read(end, &chunk, min(chunk.count, left))
        if count < 0, errno == EINTR { continue }
        // A terminal whose other side is closed returns EIO instead of end of file.
        guard count > 0 else { break }
        left -= count
        state.withLock { append(chunk[..<count], &$0) }
      }
      close(end)
      state.withLock { $0.openStreams -= 1 }
    }
  }

  private static func appendOutput(_ bytes: ArraySlice<UInt8>, to state: inout State) {
    state.output += bytes
    state.outputLines += bytes.count { $0 == UInt8(ascii: "\n") }
  }

  /// Waits for the process and frees its ID under the lock, so that no signal can reach another process with the same ID.
  private static func reap(_ processID: pid_t, into state: Watched<State>) {
    Thread.detachNewThread {
      var information = siginfo_t()
      while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
      state.withLock { state in
        var status: Int32 = 0
        waitpid(processID, &status, 0)
        // WIFSIGNALED and WEXITSTATUS of wait.h are macros.
        let signal = status & 0x7f
        state.ending = signal == 0 ? .exited(Int((status >> 8) & 0xff)) : .signalled(signal)
      }
    }
  }
}

// The input of a command and its result.
extension Command {
  public enum Input: Sendable {
    /// `/dev/null`.
    case none
    /// A pipe with these bytes, closed after them.
    case bytes([UInt8])
    /// A pipe that stays open until ``closeInput()``.
    case open
  }

  /// The destination of standard output.
  public enum Output: Sendable {
    /// The test, which reads all of it.
    case captured
    /// The test, which closes its end after that many bytes, like `| head`.
    case closedAfter(bytes: Int)
    /// A file, which is created or truncated first, such as `/dev/full`.
    case file(String)
  }

  /// A terminal for standard input, standard error and, by default, standard output.
  public struct Terminal: Sendable {
    public var columns: Int
    public var rows: Int
    /// Whether standard output goes to the terminal; if false, it is as without a terminal, like in `prewarm … | cat`.
    public var takesOutput: Bool

    public init(columns: Int = 80, rows: Int = 24, takesOutput: Bool = true) {
      self.columns = columns
      self.rows = rows
      self.takesOutput = takesOutput
    }
  }

  public enum Ending: Sendable, Hashable {
    case exited(Int)
    case signalled(Int32)
  }

  /// The result of a process that has ended.
  public struct Result: Sendable {
    public let ending: Ending
    /// The bytes from standard output, or from the terminal.
    public let output: [UInt8]
    /// The bytes from standard error; empty if a terminal received both.
    public let error: [UInt8]

    /// The exit status; nil if a signal killed it.
    public var status: Int? { if case .exited(let status) = ending { status } else { nil } }
    public var outputText: String { String(decoding: output, as: UTF8.self) }
    public var errorText: String { String(decoding: error, as: UTF8.self) }
  }
}

// Waits, for at most ``Swift/Duration/patience`` by default. They throw a ``WaitTimeout`` with the output so far.
extension Command {
  /// Suspends until the process has ended and all of its output has been read.
  public func wait(timeout: Duration = .patience) async throws -> Result {
    do { try await state.wait(for: "the end of \(name)", timeout: timeout) { $0.isOver } } catch { throw explained("\(error)") }
    return result(state.value)
  }

  /// Blocks until the process has ended and all of its output has been read.
  public func wait() throws -> Result {
    do { try state.wait(for: "the end of \(name)") { $0.isOver } } catch { throw explained("\(error)") }
    return result(state.value)
  }

  /// Suspends until standard output, or the terminal, has contained `text` that many times.
  public func waitForOutput(_ text: String, times: Int = 1) async throws {
    try await wait(for: "'\(text)'") { occurrences(of: text, in: $0.output) >= times }
  }

  /// Suspends until the whole standard output, or that of the terminal, satisfies `condition`.
  public func waitForOutput(that what: String, _ condition: @escaping @Sendable (String) -> Bool) async throws {
    try await wait(for: "output that \(what)") { condition(String(decoding: $0.output, as: UTF8.self)) }
  }

  /// Suspends until standard error has contained `text`.
  public func waitForError(_ text: String) async throws {
    try await wait(for: "'\(text)'") { occurrences(of: text, in: $0.error) > 0 }
  }

  /// Suspends until standard output has at least `count` complete lines.
  public func waitForOutputLines(_ count: Int) async throws {
    try await wait(for: "\(count) lines") { $0.outputLines >= count }
  }

  /// Throws also if the process ended without meeting the condition.
  private func wait(for what: String, until condition: @escaping @Sendable (State) -> Bool) async throws {
    do {
      try await state.wait(for: "\(what) from \(name)") { $0.isOver || condition($0) }
    } catch { throw explained("\(error)") }
    if !condition(state.value) { throw explained("\(name) ended without \(what)") }
  }

  private func result(_ state: State) -> Result {
    guard let ending = state.ending else { preconditionFailure("still running") }
    return Result(ending: ending, output: state.output, error: state.error)
  }

  private func explained(_ problem: String) -> WaitTimeout {
    WaitTimeout(description: "\(problem); its output: \(outputText.suffix(2000))\(errorText.suffix(2000))")
  }
}

private func occurrences(of text: String, in bytes: [UInt8]) -> Int {
  String(decoding: bytes, as: UTF8.self).split(separator: text, omittingEmptySubsequences: false).count - 1
}
