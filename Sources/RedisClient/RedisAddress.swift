/// Where a Redis server is, and who asks: `redis://[user[:password]@]host[:port][/database]` or `redis+unix:///path[?db=N]`.
///
/// Nothing that describes an address shows its user or its password.
public struct RedisAddress: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  enum Place: Sendable, Hashable {
    /// A name or an address, without the brackets of IPv6.
    case host(String, port: UInt16)
    case socket(path: String)
  }

  let place: Place
  /// Nil for the server's default user.
  let user: String?
  let password: String?

  /// The database's number; 0 by default.
  public let database: Int

  init(place: Place, user: String?, password: String?, database: Int) {
    self.place = place
    self.user = user
    self.password = password
    self.database = database
  }

  /// The address with `***` in place of user and password.
  public var description: String {
    let secret = user == nil && password == nil ? "" : "***@"
    switch place {
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
