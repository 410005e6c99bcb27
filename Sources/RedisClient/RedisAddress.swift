#if Queue
/// Where a Redis server is, and who asks: `redis://[user[:password]@]host[:port][/database]` or `redis+unix:///path[?db=N]`.
///
/// Nothing that describes an address shows its user or its password.
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

  /// The address with `***` in place of user and password.
  public var description: String {
    let secret = user == nil && password == nil ? "" : "***@"
    switch endpoint {
    case .host(let host, let port):
      return "redis://\(secret)\(host.contains(":") ? "[\(host)]" : host):\(port)/\(database)"
    case .socket(let path): return "redis+unix://\(secret)\(path)?db=\(database)"
    }
  }

  /// Whether user or password stand in the text. The default user's name is no secret, but a word; a password is one whatever it
  /// is.
  func hasSecret(in text: some StringProtocol) -> Bool {
    [user == "default" ? nil : user, password].contains { secret in secret.map { !$0.isEmpty && text.contains($0) } ?? false }
  }

  /// What `dump` and debuggers show: ``description`` and nothing more.
  public var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}

/// What is wrong with the text of an address; it quotes nothing of the text, which may hold a password.
public struct RedisAddressError: Error, Sendable, Hashable, CustomStringConvertible {
  /// One sentence: what is wrong and what is right.
  public let description: String
}

extension RedisAddress {
  /// The address that `text` writes; user, password, host and path may be percent-encoded.
  ///
  /// Where it has no password, that of the variable `REDISCLI_AUTH` in `environment` is taken, as redis-cli does: arguments show
  /// in lists of processes, variables do not. A user alone needs it.
  ///
  /// - Throws: ``RedisAddressError`` where it is no such address, and for `rediss://`.
  public init(_ text: String, environment: [String: String] = [:]) throws(RedisAddressError) {
    guard let colon = text.range(of: "://") else { throw .init(description: "a Redis address begins with redis://") }
    let rest = text[colon.upperBound...]
    let login = try Login(in: rest, environment: environment)
    let endpoint: Endpoint
    let database: String
    switch text[..<colon.lowerBound].lowercased() {
    case "redis": (endpoint, database) = try Self.hostAndDatabase(rest[login.end...])
    case "redis+unix", "unix": (endpoint, database) = try Self.pathAndDatabase(rest[login.end...])
    case "rediss":
      throw .init(
        description: "rediss:// is not supported, since this build's Redis library has no TLS; "
          + "use redis:// through a tunnel such as stunnel, or within a private network"
      )
    default: throw .init(description: "a Redis address begins with redis:// or redis+unix://")
    }
    guard let number = database.isEmpty ? 0 : Int(database), (0...1_000_000).contains(number) else {
      throw .init(description: "the database of a Redis address is a number, as in redis://host/0")
    }
    self.init(endpoint: endpoint, user: login.user, password: login.password, database: number)
  }

  private struct Login {
    var user: String?
    var password: String?
    /// Where the host begins.
    var end: Substring.Index

    init(in rest: Substring, environment: [String: String]) throws(RedisAddressError) {
      // A password may hold an unencoded `@`; a path of a socket may hold one too, behind a slash.
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
          description: "the Redis address has a user and no password; set REDISCLI_AUTH, or write redis://user:password@host"
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
        throw .init(description: "the port of a Redis address is a number up to 65535; an IPv6 address stands in brackets")
      }
      port = number
      host = authority[..<colon]
    }
    if host.first == "[", host.last == "]" {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw .init(description: "an IPv6 address stands in brackets, as in redis://[::1]:6379")
    }
    let name = try decoded(host, "host")
    return (.host(name.isEmpty ? "127.0.0.1" : name, port: port), String(path))
  }

  private static func pathAndDatabase(_ rest: Substring) throws(RedisAddressError) -> (Endpoint, String) {
    let path = try decoded(rest.prefix { $0 != "?" }, "path")
    guard path.first == "/" else {
      throw .init(description: "a socket's path is absolute, as in redis+unix:///run/redis/redis.sock")
    }
    let query = rest.drop { $0 != "?" }.dropFirst()
    guard query.isEmpty || query.hasPrefix("db=") else {
      throw .init(description: "behind a socket's path only ?db=NUMBER may stand")
    }
    return (.socket(path: path), String(query.dropFirst(3)))
  }
}

/// `text` without percent-encoding; `what` it is goes into the error.
private func decoded(_ text: Substring, _ what: String) throws(RedisAddressError) -> String {
  var bytes: [UInt8] = []
  var rest = Substring(text).utf8
  while let byte = rest.popFirst() {
    guard byte == UInt8(ascii: "%") else {
      bytes.append(byte)
      continue
    }
    guard let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16), rest.count >= 2 else {
      throw .init(description: "a percent sign in the \(what) of a Redis address is written %25")
    }
    rest = rest.dropFirst(2)
    bytes.append(value)
  }
  // A zero would end the text early in C.
  guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
    throw .init(description: "the \(what) of the Redis address is no UTF-8 text")
  }
  return text
}

extension String {
  fileprivate func range(of needle: String) -> Range<Index>? { firstRange(of: needle) }
}
#endif
