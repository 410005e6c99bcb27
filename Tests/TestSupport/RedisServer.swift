import Glibc
import Synchronization

/// A redis-server for one test, in its own folder, which writes every change to disk before it responds.
///
/// It keeps its data when restarted. It is killed when the last reference is released.
public final class RedisServer: Sendable {
  /// An address of this machine that nothing else uses.
  public let host: String
  public let port = 6379
  /// The folder of its data.
  public let folder = TemporaryDirectory()

  private let settings: [String]
  private let command: Mutex<Command?>

  /// Starts a server and waits until it accepts commands.
  ///
  /// - Parameters:
  ///   - settings: Further arguments, such as `["--maxmemory", "8mb"]`.
  ///   - password: That of the default user; none by default.
  ///   - users: Lines of an ACL file, such as `user me on >secret ~* +@all`; none by default.
  /// - Throws: ``WaitTimeout`` with the server's output.
  public init(settings: [String] = [], password: String? = nil, users: [String] = []) async throws {
    // All of 127.0.0.0/8 is this machine, so servers needn't share ports and keep theirs while they restart.
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

  /// Starts it again after ``stop()`` or ``kill()``, with its previous data.
  public func start() async throws {
    let started = try Command("/usr/bin/env", ["redis-server"] + settings)
    command.withLock { $0 = started }
    try await started.waitForOutput("Ready to accept connections")
  }

  /// Ends it like a shutdown of the machine.
  public func stop() async throws { try await end(SIGTERM) }

  /// Ends it like a crash.
  public func kill() async throws { try await end(SIGKILL) }

  /// Kills it and starts it again.
  public func restart() async throws {
    try await kill()
    try await start()
  }

  /// Suspends it until ``resume()``, so that it neither responds nor refuses connections.
  public func pause() { command.withLock { $0 }?.send(SIGSTOP) }

  public func resume() { command.withLock { $0 }?.send(SIGCONT) }

  private func end(_ signal: Int32) async throws {
    let running = command.withLock { $0 }
    running?.send(signal)
    _ = try await running?.wait()
  }
}
