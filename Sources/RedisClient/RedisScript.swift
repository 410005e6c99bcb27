/// A script in Lua that the server runs as one step.
///
/// The server forgets scripts when it restarts; then the whole text is sent again.
public struct RedisScript: Sendable, Hashable {
  /// What tells it from the other scripts of the program.
  public let name: String
  /// The text in Lua.
  public let source: String

  /// A script; no two texts may have one name.
  public init(name: String, source: String) {
    self.name = name
    self.source = source
  }
}

extension RedisConnection {
  /// Runs a script and returns its reply; where that is an error, it is thrown.
  public func run(_ script: RedisScript, keys: [RedisArgument], _ arguments: [RedisArgument] = []) throws(RedisError) -> RedisReply {
    let reply = try command(run: [ScriptCall(script, keys: keys, arguments)])[0]
    if case .error(let text) = reply { throw RedisError(answer: text, from: address) }
    return reply
  }

  /// Runs scripts one after another without waiting in between, and returns their replies, of which any may be an error.
  ///
  /// Other clients' commands may come between them.
  public func command(run calls: [ScriptCall]) throws(RedisError) -> [RedisReply] {
    for call in calls where scriptHashes[call.script.name] == nil {
      scriptHashes[call.script.name] = try command(["SCRIPT", "LOAD", RedisArgument(call.script.source)]).text ?? ""
    }
    for call in calls {
      append(["EVALSHA", RedisArgument(scriptHashes[call.script.name] ?? ""), RedisArgument(call.keys.count)] + call.keys + call.arguments)
    }
    var replies: [RedisReply] = []
    for _ in calls { replies.append(try reply()) }
    for (index, call) in calls.enumerated() {
      guard case .error(let text) = replies[index], text.hasPrefix("NOSCRIPT") else { continue }
      append(["EVAL", RedisArgument(call.script.source), RedisArgument(call.keys.count)] + call.keys + call.arguments)
      replies[index] = try reply()
    }
    return replies
  }
}

/// A script with what it is called with.
public struct ScriptCall: Sendable {
  let script: RedisScript
  let keys: [RedisArgument]
  let arguments: [RedisArgument]

  /// A call with these keys (`KEYS`) and arguments (`ARGV`).
  public init(_ script: RedisScript, keys: [RedisArgument], _ arguments: [RedisArgument] = []) {
    self.script = script
    self.keys = keys
    self.arguments = arguments
  }
}
