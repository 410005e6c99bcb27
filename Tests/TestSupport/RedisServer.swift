import Glibc
import Synchronization

/// A redis-server of a test's own, in a folder of its own, which writes every change to its disk before it answers.
///
/// Started again it holds what it held. It is killed when the last reference goes.
public final class RedisServer: Sendable {
  /// An address of this machine that nothing else uses.
  public let host: String
  /// The port.
  public let port = 6379
  /// Where its data are.
  public let folder = TemporaryDirectory()

  private let settings: [String]
  private let command: Mutex<Command?>

  /// Starts a server and waits until it takes commands.
  ///
  /// - Parameters:
  ///   - settings: Further arguments, such as `["--maxmemory", "8mb"]`.
  ///   - password: That of the default user; none by default.
  ///   - users: Lines of an ACL file, such as `user me on >secret ~* +@all`; none by default.
  /// - Throws: ``WaitTimeout`` with what the server said.
  public init(settings: [String] = [], password: String? = nil, users: [String] = []) async throws {
    // All of 127.0.0.0/8 is this machine, so that servers need not share ports, nor lose theirs while they restart.
    let parts = (0..<3).map { _ in Int.random(in: 2...253) }.map(String.init)
    host = "127." + parts.joined(separator: ".")
    var all = ["--bind", host, "--port", String(port), "--dir", folder.path, "--save", ""]
    all += ["--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no", "--hz", "50"]
    if let password { all += ["--requirepass", password] }
    if !users.isEmpty { all += ["--aclfile", folder.write(users.joined(separator: "\n") + "\n", to: "users.acl")] }
    self.settings = all + settings
    command = Mutex(nil)
    try await start()
  }

  deinit { command.withLock { $0 }?.kill() }

  /// Its address, without user and password.
  public var url: String { "redis://\(host):\(port)" }

  /// Starts it again after ``stop()`` or ``kill()``, with the data that it had.
  public func start() async throws {
    let started = try Command("/usr/bin/env", ["redis-server"] + settings)
    command.withLock { $0 = started }
    try await started.waitForOutput("Ready to accept connections")
  }

  /// Ends it as a shutdown of the machine does.
  public func stop() async throws { try await end(SIGTERM) }

  /// Ends it as a crash does.
  public func kill() async throws { try await end(SIGKILL) }

  /// Kills it and starts it again.
  public func restart() async throws {
    try await kill()
    try await start()
  }

  /// Lets it stand still, so that it neither answers nor refuses, until ``resume()``.
  public func pause() { command.withLock { $0 }?.send(SIGSTOP) }

  /// Lets it go on.
  public func resume() { command.withLock { $0 }?.send(SIGCONT) }

  private func end(_ signal: Int32) async throws {
    let running = command.withLock { $0 }
    running?.send(signal)
    _ = try await running?.wait()
  }
}
