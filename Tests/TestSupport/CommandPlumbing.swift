import Glibc

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
