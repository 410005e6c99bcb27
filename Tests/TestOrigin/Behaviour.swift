import TestSupport

/// The origin's response to a request: a script of bytes, or a function that chooses one.
///
/// Scripts contain raw bytes, so that no layer below corrects a malformed response.
public struct Behaviour: Sendable {
  enum Plan: Sendable {
    case script([Step])
    case computed(@Sendable (RecordedRequest) -> Behaviour)
    case sequence([Behaviour])
    indirect case held(Gate, then: Behaviour)
  }

  /// One step of a script; if a script ends without closing, the connection stays open for the next request.
  enum Step: Sendable {
    /// A status line and header fields, or any bytes that are sent for HEAD too.
    case head([UInt8])
    /// Bytes that aren't sent for HEAD.
    case body([UInt8])
    case wait(Gate)
    case close
    case reset
    case stall
  }

  let plan: Plan

  init(_ plan: Plan) { self.plan = plan }

  init(_ steps: Step...) { plan = .script(steps) }

  /// The script for `request`, which is the `turn`-th of its path, starting at 1, since the behaviour was set.
  func script(for request: RecordedRequest, turn: Int) -> [Step] {
    switch plan {
    case .script(let steps): steps
    case .computed(let choose): choose(request).script(for: request, turn: turn)
    case .sequence(let list): list[min(turn, list.count) - 1].script(for: request, turn: turn)
    case .held(let gate, let then): [.wait(gate)] + then.script(for: request, turn: turn)
    }
  }
}

/// Valid responses.
extension Behaviour {
  /// A whole body with its Content-Length, and a Content-Type if `type` is given.
  public static func body(
    _ bytes: [UInt8],
    type: String? = nil,
    status: Int = 200,
    headers: HeaderFields = [:]
  ) -> Behaviour {
    Behaviour(.head(responseHead(status, type: type, length: bytes.count, headers)), .body(bytes))
  }

  /// A file, read for each request; 404 if it can't be read. Its type is that of its extension, unless given.
  public static func file(_ path: String, type: String? = nil, headers: HeaderFields = [:]) -> Behaviour {
    .computed { _ in
      guard let bytes = readFile(path) else { return .status(404) }
      return .body(bytes, type: type ?? mediaType(ofFile: path), headers: headers)
    }
  }

  /// A status with a body and its Content-Length; empty by default.
  public static func status(_ status: Int, headers: HeaderFields = [:], body: [UInt8] = []) -> Behaviour {
    .body(body, status: status, headers: headers)
  }

  /// A redirect to `location`, absolute or relative, without a body.
  public static func redirect(to location: String, status: Int = 302) -> Behaviour {
    .status(status, headers: ["Location": location])
  }

  /// A body with `Transfer-Encoding: chunked`, cut into these chunks; none may be empty.
  public static func chunked(_ chunks: [[UInt8]], type: String? = nil, headers: HeaderFields = [:]) -> Behaviour {
    let headers = HeaderFields([("Transfer-Encoding", "chunked")] + headers.fields)
    let frames = chunks.map { Step.body(Array("\(String($0.count, radix: 16))\r\n".utf8) + $0 + Array("\r\n".utf8)) }
    return Behaviour(.script([.head(responseHead(200, type: type, headers))] + frames + [.body(Array("0\r\n\r\n".utf8))]))
  }

  /// A body without a length, whose end is the connection's (RFC 9112, section 6.3, rule 8).
  public static func noLength(_ bytes: [UInt8], type: String? = nil, headers: HeaderFields = [:]) -> Behaviour {
    let headers = HeaderFields([("Connection", "close")] + headers.fields)
    return Behaviour(.head(responseHead(200, type: type, headers)), .body(bytes), .close)
  }
}

/// Choosing and delaying behaviours.
extension Behaviour {
  /// The behaviour that `choose` returns for the request. It runs on the origin's thread, so it must not block.
  public static func computed(_ choose: @escaping @Sendable (RecordedRequest) -> Behaviour) -> Behaviour {
    Behaviour(.computed(choose))
  }

  /// One behaviour per request of a path, counted since the behaviour was set; the last repeats.
  public static func sequence(_ list: [Behaviour]) -> Behaviour {
    precondition(!list.isEmpty, "a sequence needs a behaviour")
    return Behaviour(.sequence(list))
  }

  /// Responds with `then` once the gate opens.
  public static func held(_ gate: Gate, then: Behaviour) -> Behaviour { Behaviour(.held(gate, then: then)) }

  /// Sends the head at once, then each byte of the body after a step of the gate.
  public static func slow(_ bytes: [UInt8], _ gate: Gate, type: String? = nil, headers: HeaderFields = [:]) -> Behaviour {
    let head = Step.head(responseHead(200, type: type, length: bytes.count, headers))
    return Behaviour(.script([head] + bytes.flatMap { [.wait(gate), .body([$0])] }))
  }

  /// Sends the head and the first `count` bytes of the body at once, and the others once the gate opens.
  public static func paused(_ bytes: [UInt8], after count: Int, _ gate: Gate, headers: HeaderFields = [:]) -> Behaviour {
    let head = Step.head(responseHead(200, length: bytes.count, headers))
    return Behaviour(head, .body(Array(bytes.prefix(count))), .wait(gate), .body(Array(bytes.dropFirst(count))))
  }
}
