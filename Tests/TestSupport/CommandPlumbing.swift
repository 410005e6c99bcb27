import Glibc
import Synchronization

/// The descriptors between a test and a command: those that the child opens and those that the test keeps.
struct CommandPlumbing {
  /// The ends that the test keeps: for writing standard input, and for reading standard output and standard error. With a terminal,
  /// the first is its keyboard.
  var input: Int32?
  var output: Int32?
  var error: Int32?

  private var childEnds: [Int32] = []

  /// Creates pipes or a terminal, and adds actions that install them as the child's descriptors 0, 1 and 2.
  init(input: Command.Input, output: Command.Output, terminal: Command.Terminal?, actions: Spawn.Actions) {
    if let terminal {
      let (keyboard, screen, path) = openTerminal(terminal)
      self.input = keyboard
      // The first terminal that a session leader opens becomes its controlling terminal.
      posix_spawn_file_actions_addopen(actions, 0, path, O_RDWR, 0)
      posix_spawn_file_actions_adddup2(actions, 0, 2)
      if terminal.takesOutput {
        posix_spawn_file_actions_adddup2(actions, 0, 1)
        self.output = screen
      } else {
        openOutput(output, actions)
        error = screen
      }
    } else {
      if case .none = input {
        posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0)
      } else {
        self.input = pipe(for: 0, actions)
      }
      openOutput(output, actions)
      error = pipe(for: 2, actions)
    }
    Spawn.addCloseAll(actions, from: 3)
  }

  /// Closes the child's ends; call it once the child runs.
  func closeChildEnds() { for end in childEnds { close(end) } }

  private mutating func openOutput(_ kind: Command.Output, _ actions: Spawn.Actions) {
    if case .file(let path) = kind {
      posix_spawn_file_actions_addopen(actions, 1, path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    } else {
      output = pipe(for: 1, actions)
    }
  }

  /// Creates a pipe, installs one end as the child's `descriptor`, and returns the other.
  private mutating func pipe(for descriptor: Int32, _ actions: Spawn.Actions) -> Int32 {
    var ends: [Int32] = [0, 0]
    guard Glibc.pipe(&ends) == 0 else { fatalError("pipe: \(String(cString: strerror(errno)))") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let (child, kept) = descriptor == 0 ? (ends[0], ends[1]) : (ends[1], ends[0])
    posix_spawn_file_actions_adddup2(actions, child, descriptor)
    childEnds.append(child)
    return kept
  }

  private mutating func openTerminal(_ size: Command.Terminal) -> (keyboard: Int32, screen: Int32, path: String) {
    var master: Int32 = 0
    var slave: Int32 = 0
    var window = winsize(ws_row: UInt16(size.rows), ws_col: UInt16(size.columns), ws_xpixel: 0, ws_ypixel: 0)
    var name = [CChar](repeating: 0, count: 128)
    guard openpty(&master, &slave, &name, nil, &window) == 0 else {
      fatalError("openpty: \(String(cString: strerror(errno)))")
    }
    for end in [master, slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    childEnds.append(slave)
    return (fcntl(master, F_DUPFD_CLOEXEC, 3), master, name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) })
  }
}

/// The end of a pipe or terminal that a test writes to, with one owner, closed once.
final class WritingEnd: Sendable {
  private let descriptor: Mutex<Int32?>

  init(_ descriptor: Int32?) { self.descriptor = Mutex(descriptor) }

  /// Writes all of `bytes` as fast as the other side reads them; false if that is closed.
  func write(_ bytes: [UInt8]) -> Bool {
    descriptor.withLock { descriptor in
      guard let descriptor else { return false }
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress!, $0.count) }
        if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return false }
      }
      return true
    }
  }

  /// Resizes the terminal, for which the kernel sends SIGWINCH to its processes.
  func resize(columns: Int, rows: Int) {
    descriptor.withLock { descriptor in
      guard let descriptor else { return }
      var window = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
      _ = ioctl(descriptor, UInt(TIOCSWINSZ), &window)
    }
  }

  func close() {
    descriptor.withLock { descriptor in
      if let descriptor { Glibc.close(descriptor) }
      descriptor = nil
    }
  }

  deinit { close() }
}

/// Functions of `spawn.h` that require `_GNU_SOURCE`, so that the Glibc module map lacks them.
enum Spawn {
  typealias Actions = UnsafeMutablePointer<posix_spawn_file_actions_t>

  /// `POSIX_SPAWN_SETSID` of `spawn.h`: the child leads a new session without a controlling terminal.
  static let newSession: Int32 = 0x80

  static func addChangeOfFolder(_ actions: Actions, _ folder: String) {
    let call = symbol("posix_spawn_file_actions_addchdir_np", as: (@convention(c) (Actions, UnsafePointer<CChar>) -> Int32).self)
    precondition(call(actions, folder) == 0)
  }

  /// Closes the child's descriptors from `first`, so that none of the tests' sockets leak into it.
  static func addCloseAll(_ actions: Actions, from first: Int32) {
    let call = symbol("posix_spawn_file_actions_addclosefrom_np", as: (@convention(c) (Actions, Int32) -> Int32).self)
    precondition(call(actions, first) == 0)
  }

  private static func symbol<Function>(_ name: String, as type: Function.Type) -> Function {
    // The null handle is RTLD_DEFAULT: the global scope.
    guard let address = dlsym(nil, name) else { fatalError("this C library lacks \(name)") }
    return unsafeBitCast(address, to: type)
  }
}

/// Starts `executable` in a new session with all signals at their default and unblocked, after `actions`.
func spawn(_ executable: String, _ arguments: [String], environment: [String: String], actions: Spawn.Actions) throws -> pid_t {
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  var signals = sigset_t()
  sigemptyset(&signals)
  posix_spawnattr_setsigmask(&attributes, &signals)
  // SwiftNIO ignores SIGPIPE in this process, and an ignored signal stays ignored across exec.
  sigfillset(&signals)
  posix_spawnattr_setsigdefault(&attributes, &signals)
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | Spawn.newSession))

  var argv = ([executable] + arguments).map { strdup($0) } + [nil]
  var envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
  defer { for text in argv + envp { free(text) } }
  var id: pid_t = 0
  let failure = posix_spawn(&id, executable, actions, &attributes, &argv, &envp)
  guard failure == 0 else { throw SpawnFailure(description: "\(executable): \(String(cString: strerror(failure)))") }
  return id
}

public struct SpawnFailure: Error, CustomStringConvertible {
  public let description: String
}
