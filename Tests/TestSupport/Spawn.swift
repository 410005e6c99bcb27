import Glibc

/// Functions of `spawn.h` that require `_GNU_SOURCE`, so that the Glibc module map lacks them.
enum Spawn {
  typealias Actions = UnsafeMutablePointer<posix_spawn_file_actions_t>

  /// `POSIX_SPAWN_SETSID` of `spawn.h`: the child leads a new session without a controlling terminal.
  static let newSession: Int32 = 0x80

  /// Sets the child's working folder.
  static func addChangeOfFolder(_ actions: Actions, _ folder: String) {
    let call = symbol(
      "posix_spawn_file_actions_addchdir_np",
      as: (@convention(c) (Actions, UnsafePointer<CChar>) -> Int32).self
    )
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
func spawn(
  _ executable: String,
  _ arguments: [String],
  environment: [String: String],
  actions: Spawn.Actions
) throws -> pid_t {
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

/// A command couldn't be started.
public struct SpawnFailure: Error, CustomStringConvertible {
  /// The executable and the system's error.
  public let description: String
}
