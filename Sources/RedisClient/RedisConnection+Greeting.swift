extension RedisConnection {
  private static let codesOfNoAdmission: [String?] = ["NOAUTH", "DENIED", String(ServerError.tooManyClients)]

  /// Signs in, selects the database, names the connection, and looks at the server's version.
  func greet() throws(RedisError) {
    if let password = address.password {
      append(["AUTH"] + (address.user.map { [RedisArgument($0)] } ?? []) + [RedisArgument(password)])
    }
    if address.database != 0 { append(["SELECT", RedisArgument(address.database)]) }
    // Neither is worth a permission: the name is for those who look at CLIENT LIST.
    append(["CLIENT", "SETNAME", "prewarm"])
    append(["INFO", "server"])
    if address.password != nil, case .error(let text) = try reply() { throw RedisError(answerToAUTH: text, from: address) }
    if address.database != 0, case .error(let text) = try reply() { throw RedisError(answer: text, from: address) }
    if case .error(let text) = try reply() {
      let error = RedisError(answer: text, from: address)
      // Whom the server does not admit it tells so in place of its first answer, and closes the connection.
      if Self.codesOfNoAdmission.contains(error.code) { throw error }
    }
    guard let version = Self.version(in: try reply().text ?? "") else { return }
    guard version.isAtLeast(Self.requiredVersion) else {
      throw RedisError(
        .refused,
        "is version \(version.prefix(20))",
        at: address,
        advice: "version \(Self.requiredVersion) or later is needed"
      )
    }
  }

  /// The version that the answer to `INFO server` tells.
  static func version(in information: String) -> Substring? {
    for line in information.split(whereSeparator: \.isNewline) where line.hasPrefix("redis_version:") {
      return line.dropFirst("redis_version:".count).prefix { $0.isNumber || $0 == "." }
    }
    return nil
  }
}

extension Substring {
  /// Whether a version in dotted numbers is `other` or later.
  fileprivate func isAtLeast(_ other: String) -> Bool {
    let own = split(separator: ".").map { Int($0) ?? 0 }
    let others = other.split(separator: ".").map { Int($0) ?? 0 }
    return !own.lexicographicallyPrecedes(others)
  }
}
