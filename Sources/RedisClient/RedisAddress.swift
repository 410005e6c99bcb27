#if Queue
/// A Redis server's address with credentials: `redis://[user[:password]@]host[:port][/database]` or `redis+unix:///path[?db=N]`.
///
/// No description of an address shows its user or its password.
public struct RedisAddress: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  enum Endpoint: Sendable, Hashable {
    /// A name or an address, without the brackets of IPv6.
    case host(String, port: UInt16)
    case socket(path: String)
  }

  let endpoint: Endpoint
  /// Nil for the server's default user.
  let user: String?
  let password: String?

  /// The database's number; 0 by default.
  public let database: Int

  init(endpoint: Endpoint, user: String?, password: String?, database: Int) {
    self.endpoint = endpoint
    self.user = user
    self.password = password
    self.database = database
  }

  /// The address with `***` instead of user and password.
  public var description: String {
    let secret = user == nil && password == nil ? "" : "***@"
    switch endpoint {
    case .host(let host, let port):
      return "redis://\(secret)\(host.contains(":") ? "[\(host)]" : host):\(port)/\(database)"
    case .socket(let path): return "redis+unix://\(secret)\(path)?db=\(database)"
    }
  }

  /// Whether the text contains the user or the password. The default user's name isn't secret, but a password is, even if it is a common
  /// word.
  func hasSecret(in text: some StringProtocol) -> Bool {
    [user == "default" ? nil : user, password].contains { secret in secret.map { !$0.isEmpty && text.contains($0) } ?? false }
  }

  /// The mirror for `dump` and debuggers: only ``description``.
  public var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}

/// The error of an invalid address; it quotes no part of the address, which may hold a password.
public struct RedisAddressError: Error, Sendable, Hashable, CustomStringConvertible {
  /// One sentence: what is wrong, and what is valid.
  public let description: String
}

extension RedisAddress {
  /// Parses an address; user, password, host and path may be percent-encoded.
  ///
  /// If it has no password, uses that of the variable `REDISCLI_AUTH` in `environment`, as redis-cli does: arguments are visible in
  /// process lists, variables aren't. A user without password requires it.
  ///
  /// - Throws: ``RedisAddressError`` for an invalid address, and for `rediss://`.
  public init(_ text: String, environment: [String: String] = [:]) throws(RedisAddressError) {
    guard let colon = text.range(of: "://") else { throw .init(description: "a Redis address must begin with redis://") }
    let rest = text[colon.upperBound...]
    let login = try Login(in: rest, environment: environment)
    let endpoint: Endpoint
    let database: String
    switch text[..<colon.lowerBound].lowercased() {
    case "redis": (endpoint, database) = try Self.hostAndDatabase(rest[login.end...])
    case "redis+unix", "unix": (endpoint, database) = try Self.pathAndDatabase(rest[login.end...])
    case "rediss":
      throw .init(
        description: "rediss:// isn't supported, since this build's Redis library has no TLS; "
          + "use redis:// through a tunnel such as stunnel, or within a private network"
      )
    default: throw .init(description: "a Redis address must begin with redis:// or redis+unix://")
    }
    guard let number = database.isEmpty ? 0 : Int(database), (0...1_000_000).contains(number) else {
      throw .init(description: "the database of a Redis address must be a number, such as redis://host/0")
    }
    self.init(endpoint: endpoint, user: login.user, password: login.password, database: number)
  }

  private struct Login {
    var user: String?
    var password: String?
    /// The start of the host.
    var end: Substring.Index

    init(in rest: Substring, environment: [String: String]) throws(RedisAddressError) {
      // A password may contain an unencoded `@`; so may a socket's path, after a slash.
      let authority = rest.prefix { $0 != "/" && $0 != "?" }
      end = authority.lastIndex(of: "@").map(rest.index(after:)) ?? rest.startIndex
      if end > rest.startIndex {
        let parts = authority[..<rest.index(before: end)].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        user = parts[0].isEmpty ? nil : try decoded(parts[0], "user")
        if parts.count == 2, !parts[1].isEmpty { password = try decoded(parts[1], "password") }
      }
      password = password ?? environment["REDISCLI_AUTH"].flatMap { $0.isEmpty ? nil : $0 }
      if user != nil, password == nil {
        throw .init(
          description: "the Redis address has a user but no password; set REDISCLI_AUTH or use redis://user:password@host"
        )
      }
    }
  }

  private static func hostAndDatabase(_ rest: Substring) throws(RedisAddressError) -> (Endpoint, String) {
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let path = rest[authority.endIndex...].drop { $0 == "/" }
    var host = authority
    var port: UInt16 = 6379
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
      guard let number = UInt16(authority[authority.index(after: colon)...]), number > 0 else {
        throw .init(description: "the port of a Redis address must be a number up to 65535; put an IPv6 address in brackets")
      }
      port = number
      host = authority[..<colon]
    }
    if host.first == "[", host.last == "]" {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw .init(description: "put an IPv6 address in brackets, such as redis://[::1]:6379")
    }
    let name = try decoded(host, "host")
    return (.host(name.isEmpty ? "127.0.0.1" : name, port: port), String(path))
  }

  private static func pathAndDatabase(_ rest: Substring) throws(RedisAddressError) -> (Endpoint, String) {
    let path = try decoded(rest.prefix { $0 != "?" }, "path")
    guard path.first == "/" else {
      throw .init(description: "a socket's path must be absolute, such as redis+unix:///run/redis/redis.sock")
    }
    let query = rest.drop { $0 != "?" }.dropFirst()
    guard query.isEmpty || query.hasPrefix("db=") else {
      throw .init(description: "only ?db=NUMBER may follow a socket's path")
    }
    return (.socket(path: path), String(query.dropFirst(3)))
  }
}

/// Decodes percent-encoding; `what` names the part in errors.
private func decoded(_ text: Substring, _ what: String) throws(RedisAddressError) -> String {
  var bytes: [UInt8] = []
  var rest = Substring(text).utf8
  while let byte = rest.popFirst() {
    guard byte == UInt8(ascii: "%") else {
      bytes.append(byte)
      continue
    }
    guard let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16), rest.count >= 2 else {
      throw .init(description: "write a percent sign in the \(what) of a Redis address as %25")
    }
    rest = rest.dropFirst(2)
    bytes.append(value)
  }
  // A NUL would end the text early in C.
  guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
    throw .init(description: "the \(what) of the Redis address isn't UTF-8 text")
  }
  return text
}

extension String {
  fileprivate func range(of needle: String) -> Range<Index>? { firstRange(of: needle) }
}
#endif
