import Glibc
import TestSupport

/// Debian's nginx on a port of 127.0.0.1, serving a folder: an independent server.
///
/// It keeps its files in a folder of its own and needs no privileges. One worker; stopped when the last reference is released.
public final class Nginx: Sendable {
  public let port: Int

  private let command: Command
  private let folder: TemporaryDirectory
  private let tls: TLS?

  public struct TLS: Sendable {
    /// Its certificate, and the authority for client certificates.
    public var certificates: Certificates
    public var offersHTTP2 = true
    /// Whether it requires a client certificate of the same authority.
    public var verifiesClients = false

    /// Creates settings; by default TLS with HTTP/2 for any client.
    public init(_ certificates: Certificates, offersHTTP2: Bool = true, verifiesClients: Bool = false) {
      self.certificates = certificates
      self.offersHTTP2 = offersHTTP2
      self.verifiesClients = verifiesClients
    }

    fileprivate var directives: String {
      """
      ssl_certificate \(certificates.server);
      ssl_certificate_key \(certificates.serverKey);
      ssl_client_certificate \(certificates.authority);
      ssl_verify_client \(verifiesClients ? "on" : "off");
      ssl_session_cache shared:tls:1m;
      """
    }
  }

  /// Starts nginx and waits until it accepts connections.
  ///
  /// - Parameters:
  ///   - root: The absolute path of the folder to serve.
  ///   - directives: Further directives for the `server` block, such as a `location`.
  ///   - httpDirectives: Further directives for the `http` block, such as a `proxy_cache_path`.
  ///   - logsRequests: Whether requests are logged, for ``requests``; false for measurements.
  ///   - tls: Its TLS settings; nil: no TLS.
  /// - Throws: ``NginxFailure``, or ``WaitTimeout`` with nginx's output.
  public init(
    serving root: String,
    directives: String = "",
    httpDirectives: String = "",
    logsRequests: Bool = true,
    tls: TLS? = nil
  ) async throws {
    self.tls = tls
    folder = TemporaryDirectory()
    (port, command) = try await Self.start(in: folder) { port in
      """
      \(geteuid() == 0 ? "user root;" : "")
      daemon off;
      worker_processes 1;
      pid nginx.pid;
      error_log stderr notice;
      events { worker_connections 8192; }
      http {
        client_body_temp_path body;
        proxy_temp_path proxy;
        fastcgi_temp_path fastcgi;
        uwsgi_temp_path uwsgi;
        scgi_temp_path scgi;
        types { image/jpeg jpg jpeg; image/png png; image/webp webp; image/gif gif; text/html html; text/plain txt; }
        default_type application/octet-stream;
        log_format short '$request_method $request_uri $status';
        access_log \(logsRequests ? "/dev/stdout short" : "off");
        sendfile on;
        tcp_nopush on;
        keepalive_requests 1000000;
        \(httpDirectives)
        server {
          listen 127.0.0.1:\(port) \(tls == nil ? "" : tls?.offersHTTP2 == true ? "ssl http2" : "ssl") backlog=4096;
          \(tls?.directives ?? "")
          root \(root);
          \(directives)
        }
      }

      """
    }
  }

  deinit { stop() }

  /// The scheme, address and port, such as `http://127.0.0.1:40123`.
  public var base: String { "\(tls == nil ? "http" : "https")://127.0.0.1:\(port)" }

  public func url(_ path: String) -> String { base + path }

  /// The requests served so far, such as `GET /a.jpg 200`, in the order of the ends of their responses.
  ///
  /// nginx logs a request after its response, so a client may be a moment ahead: see ``waitForRequests(_:)``.
  public var requests: [String] { command.outputText.split(separator: "\n").map(String.init) }

  public var requestCount: Int { command.outputLineCount }

  /// Suspends until at least `count` requests have been served.
  public func waitForRequests(_ count: Int) async throws { try await command.waitForOutputLines(count) }

  /// Stops at once and waits for the end; a second call does nothing.
  public func stop() {
    command.send(SIGTERM)
    _ = try? command.wait()
  }

  /// Tries several ports, since another process may take one between its choice and its use.
  private static func start(
    in folder: TemporaryDirectory,
    configuration: (Int) -> String
  ) async throws -> (port: Int, command: Command) {
    guard let executable = places.first(where: { access($0, X_OK) == 0 }) else {
      throw NginxFailure(description: "nginx isn't installed; run apt-get install nginx-light")
    }
    var attemptsLeft = 3
    while true {
      let port = freePort()
      folder.write(configuration(port), to: "nginx.conf")
      let command = try Command(executable, ["-e", "stderr", "-p", folder.path, "-c", folder.file("nginx.conf")])
      do {
        // The listener is open before the first worker starts.
        try await command.waitForError("start worker process ")
        return (port, command)
      } catch {
        attemptsLeft -= 1
        guard attemptsLeft > 0, command.errorText.contains("Address already in use") else { throw error }
      }
    }
  }

  private static let places = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"]
}

public struct NginxFailure: Error, CustomStringConvertible {
  public let description: String
}
