import Foundation
public import Glibc

/// A built executable, run as a process of its own: what it is given, what it says, how it ends.
///
/// A thread each reads its standard output and standard error, so neither can fill up. It leads a session of its own, has
/// every signal at its default, and inherits no descriptor but the first three. It is killed when the last reference goes
/// before it has ended.
public final class Command: Sendable {
  struct State: Sendable {
    var output: [UInt8] = []
    var error: [UInt8] = []
    var outputLines = 0
    var openStreams: Int
    var ending: Ending?

    /// Whether the process has ended and all it said has been read.
    var isOver: Bool { ending != nil && openStreams == 0 }
  }

  /// The process's id.
  public let processID: pid_t

  let name: String
  let state: Watched<State>
  private let input: WritingEnd

  /// Starts `executable`, given by its path.
  ///
  /// - Parameters:
  ///   - environment: Added to that of the tests; nil as a value takes a variable away.
  ///   - workingDirectory: By default that of the tests.
  ///   - terminal: By default none. With one, `input` does not matter: ``write(_:)`` types there.
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
    // A command may go before it has read its input.
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

/// While it runs.
extension Command {
  /// Sends a signal; does nothing once the process has ended.
  public func send(_ signal: Int32) {
    state.withLock { state in
      if state.ending == nil { _ = Glibc.kill(processID, signal) }
    }
  }

  /// Kills the process with SIGKILL.
  public func kill() { send(SIGKILL) }

  /// Writes to standard input, or types at the terminal; false where nobody reads there any more.
  @discardableResult
  public func write(_ bytes: some Sequence<UInt8>) -> Bool { input.write(Array(bytes)) }

  /// Writes text to standard input, or types it at the terminal; false where nobody reads there any more.
  @discardableResult
  public func write(_ text: String) -> Bool { write(text.utf8) }

  /// Ends standard input.
  public func closeInput() { input.close() }

  /// Changes the size of the terminal, which sends SIGWINCH.
  public func resizeTerminal(columns: Int, rows: Int) { input.resize(columns: columns, rows: rows) }

  /// What has come from standard output, or from the terminal, until now.
  public var outputText: String { String(decoding: state.value.output, as: UTF8.self) }

  /// How many whole lines have come from standard output until now.
  public var outputLineCount: Int { state.value.outputLines }

  /// What has come from standard error until now.
  public var errorText: String { String(decoding: state.value.error, as: UTF8.self) }

  /// Whether the process runs still.
  public var isRunning: Bool { state.value.ending == nil }
}

/// The threads; none holds the command itself.
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
        // A terminal whose other side has gone says EIO rather than the end of file.
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

  /// Waits for the process, and frees its id only under the lock: no signal can go to a stranger with the same id.
  private static func reap(_ processID: pid_t, into state: Watched<State>) {
    Thread.detachNewThread {
      var information = siginfo_t()
      while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
      state.withLock { state in
        var status: Int32 = 0
        waitpid(processID, &status, 0)
        // WIFSIGNALED and WEXITSTATUS of wait.h, which are macros.
        let signal = status & 0x7f
        state.ending = signal == 0 ? .exited(Int((status >> 8) & 0xff)) : .signalled(signal)
      }
    }
  }
}
