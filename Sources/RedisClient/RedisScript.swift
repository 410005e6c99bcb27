#if Queue
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
  public func run(_ script: RedisScript, keys: [RedisArgument], _ arguments: [RedisArgument] = []) throws(RedisError)
    -> RedisReply
  {
    let reply = try command(run: [ScriptCall(script, keys: keys, arguments)])[0]
    if case .error(let text) = reply { throw RedisError(answer: text, from: address) }
    return reply
  }

  /// Runs scripts one after another without waiting in between, and returns their replies, of which any may be an error.
  ///
  /// Other clients' commands may come between them.
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
  /// Makes the script known to the server, where this connection has not done so; to be called before
  /// ``append(_:)-(ScriptCall)``.
  public func prepare(_ script: RedisScript) throws(RedisError) {
    guard scriptHashes[script.name] == nil else { return }
    scriptHashes[script.name] = try command(["SCRIPT", "LOAD", RedisArgument(script.source)]).text ?? ""
  }

  /// Queues a call of a prepared script, as ``append(_:)-([RedisArgument])`` does a command.
  ///
  /// Its reply is an error with the code `NOSCRIPT` where somebody made the server forget its scripts.
  public func append(_ call: ScriptCall) {
    guard let hash = scriptHashes[call.script.name] else { fatalError("the script \(call.script.name) was not prepared") }
    append(["EVALSHA", RedisArgument(hash), RedisArgument(call.keys.count)] + call.keys + call.arguments)
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
#endif
