/// Responses that go wrong.
///
/// Where a part of a body is sent, it is the beginning of `body`, padded with zeros.
extension Behaviour {
  /// Declares a length, sends fewer bytes, and closes.
  public static func cut(afterBytes count: Int, declared: Int, of body: [UInt8] = [], type: String? = nil) -> Behaviour {
    Behaviour(.head(responseHead(200, type: type, length: declared)), .body(beginning(of: body, count)), .close)
  }

  /// Resets the connection (RST) instead of an answer.
  public static var reset: Behaviour { Behaviour(.reset) }

  /// Resets the connection (RST) in the middle of the body.
  public static func reset(afterBytes count: Int, declared: Int, of body: [UInt8] = [], type: String? = nil) -> Behaviour {
    Behaviour(.head(responseHead(200, type: type, length: declared)), .body(beginning(of: body, count)), .reset)
  }

  /// Closes the connection in good order instead of an answer.
  public static var close: Behaviour { Behaviour(.close) }

  /// Takes the request and sends nothing, for as long as the client stays.
  public static var stall: Behaviour { Behaviour(.stall) }

  /// Sends the beginning of the body and then nothing more, for as long as the client stays.
  public static func stall(afterBytes count: Int, declared: Int, of body: [UInt8] = [], type: String? = nil) -> Behaviour {
    Behaviour(.head(responseHead(200, type: type, length: declared)), .body(beginning(of: body, count)), .stall)
  }

  /// Declares a length that is not the body's, sends all of it, and closes.
  public static func wrongLength(declared: Int, actual: [UInt8], type: String? = nil) -> Behaviour {
    Behaviour(.head(responseHead(200, type: type, length: declared)), .body(actual), .close)
  }

  /// Any bytes as the response, then closes; with `closes` false the connection stays.
  public static func raw(_ bytes: [UInt8], closes: Bool = true) -> Behaviour {
    Behaviour(.script([.head(bytes)] + (closes ? [.close] : [])))
  }

  /// Any text as the response, then closes; with `closes` false the connection stays.
  public static func raw(_ text: String, closes: Bool = true) -> Behaviour { .raw(Array(text.utf8), closes: closes) }

  private static func beginning(of body: [UInt8], _ count: Int) -> [UInt8] {
    Array(body.prefix(count)) + [UInt8](repeating: 0, count: max(0, count - body.count))
  }
}

/// How an answer breaks off.
public enum BreakOff: Sendable {
  /// The connection is closed in good order.
  case close
  /// The connection is reset.
  case reset
  /// Nothing more comes, for as long as the client stays.
  case stall

  fileprivate var step: Behaviour.Step {
    switch self {
    case .close: .close
    case .reset: .reset
    case .stall: .stall
    }
  }
}

extension Behaviour {
  /// The same answer, but that it breaks off after so many bytes of its body; one that is shorter stays whole.
  public func brokenOff(afterBytes count: Int, by way: BreakOff = .close) -> Behaviour {
    .computed { request in
      var left = count
      var steps: [Step] = []
      for step in script(for: request, turn: 1) {
        guard case .body(let bytes) = step else {
          steps.append(step)
          continue
        }
        steps.append(.body(Array(bytes.prefix(left))))
        if bytes.count > left { return Behaviour(.script(steps + [way.step])) }
        left -= bytes.count
      }
      return Behaviour(.script(steps))
    }
  }
}
