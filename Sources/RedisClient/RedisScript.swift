#if Queue
/// A Lua script that the server runs atomically.
///
/// The server forgets scripts when it restarts; then the source is sent again.
public struct RedisScript: Sendable, Hashable {
  /// Identifies it among the program's scripts.
  public let name: String
  /// The source in Lua.
  public let source: String

  /// Creates a script; different sources need different names.
  public init(name: String, source: String) {
    self.name = name
    self.source = source
  }
}

extension RedisConnection {
  /// Runs a script and returns its reply; an error reply is thrown.
  public func run(_ script: RedisScript, keys: [RedisArgument], _ arguments: [RedisArgument] = []) throws(RedisError)
    -> RedisReply
  {
    let reply = try command(run: [ScriptCall(script, keys: keys, arguments)])[0]
    if case .error(let text) = reply { throw RedisError(answer: text, from: address) }
    return reply
  }

  /// Runs scripts one after another without waiting in between, and returns their replies, of which any may be an error.
  ///
  /// Other clients' commands may run between them.
  public func command(run calls: [ScriptCall]) throws(RedisError) -> [RedisReply] {
    for call in calls { try prepare(call.script) }
    for call in calls { append(call) }
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

extension RedisConnection {
  /// Loads the script into the server, unless this connection has done so; to be called before ``append(_:)-(ScriptCall)``.
  public func prepare(_ script: RedisScript) throws(RedisError) {
    guard scriptHashes[script.name] == nil else { return }
    scriptHashes[script.name] = try command(["SCRIPT", "LOAD", RedisArgument(script.source)]).text ?? ""
  }

  /// Queues a call of a prepared script, as ``append(_:)-([RedisArgument])`` does for a command.
  ///
  /// Its reply is an error with the code `NOSCRIPT` if the server has forgotten its scripts.
  public func append(_ call: ScriptCall) {
    guard let hash = scriptHashes[call.script.name] else { fatalError("the script \(call.script.name) wasn't prepared") }
    append(["EVALSHA", RedisArgument(hash), RedisArgument(call.keys.count)] + call.keys + call.arguments)
  }
}

/// A script with its keys and arguments.
public struct ScriptCall: Sendable {
  let script: RedisScript
  let keys: [RedisArgument]
  let arguments: [RedisArgument]

  /// Creates a call with these keys (`KEYS`) and arguments (`ARGV`).
  public init(_ script: RedisScript, keys: [RedisArgument], _ arguments: [RedisArgument] = []) {
    self.script = script
    self.keys = keys
    self.arguments = arguments
  }
}
#endif
