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

  /// Writes text to standard input, or types it at the terminal; false if the process has closed it.
  @discardableResult
  public func write(_ text: String) -> Bool { write(text.utf8) }

  public func closeInput() { input.close() }

  /// Resizes the terminal, which sends SIGWINCH.
  public func resizeTerminal(columns: Int, rows: Int) { input.resize(columns: columns, rows: rows) }

  /// The text from standard output, or from the terminal, so far.
  public var outputText: String { String(decoding: state.value.output, as: UTF8.self) }

  /// The number of complete lines from standard output so far.
  public var outputLineCount: Int { state.value.outputLines }

  /// The text from standard error so far.
  public var errorText: String { String(decoding: state.value.error, as: UTF8.self) }

  /// Whether the process is still running.
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
