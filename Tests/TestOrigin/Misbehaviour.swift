/// Faulty responses.
///
/// A part of a body is the beginning of `body`, padded with zeros.
extension Behaviour {
  /// Declares a length, sends fewer bytes, and closes.
  public static func cut(afterBytes count: Int, declared: Int, of body: [UInt8] = [], type: String? = nil) -> Behaviour {
    Behaviour(.head(responseHead(200, type: type, length: declared)), .body(beginning(of: body, count)), .close)
  }

  /// Resets the connection (RST) instead of responding.
  public static var reset: Behaviour { Behaviour(.reset) }

  /// Resets the connection (RST) in the middle of the body.
  public static func reset(afterBytes count: Int, declared: Int, of body: [UInt8] = [], type: String? = nil) -> Behaviour {
    Behaviour(.head(responseHead(200, type: type, length: declared)), .body(beginning(of: body, count)), .reset)
  }

  /// Closes the connection cleanly instead of responding.
  public static var close: Behaviour { Behaviour(.close) }

  /// Reads the request and sends nothing until the client disconnects.
  public static var stall: Behaviour { Behaviour(.stall) }

  /// Sends the beginning of the body and then nothing more until the client disconnects.
  public static func stall(afterBytes count: Int, declared: Int, of body: [UInt8] = [], type: String? = nil) -> Behaviour {
    Behaviour(.head(responseHead(200, type: type, length: declared)), .body(beginning(of: body, count)), .stall)
  }

  /// Declares a wrong length, sends the whole body, and closes.
  public static func wrongLength(declared: Int, actual: [UInt8], type: String? = nil) -> Behaviour {
    Behaviour(.head(responseHead(200, type: type, length: declared)), .body(actual), .close)
  }

  /// Any bytes as the response, then closes; if `closes` is false, the connection stays open.
  public static func raw(_ bytes: [UInt8], closes: Bool = true) -> Behaviour {
    Behaviour(.script([.head(bytes)] + (closes ? [.close] : [])))
  }

  /// Any text as the response, then closes; if `closes` is false, the connection stays open.
  public static func raw(_ text: String, closes: Bool = true) -> Behaviour { .raw(Array(text.utf8), closes: closes) }

  private static func beginning(of body: [UInt8], _ count: Int) -> [UInt8] {
    Array(body.prefix(count)) + [UInt8](repeating: 0, count: max(0, count - body.count))
  }
}

/// How a response breaks off.
public enum BreakOff: Sendable {
  /// The connection is closed cleanly.
  case close
  /// The connection is reset.
  case reset
  /// Nothing more is sent until the client disconnects.
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
  /// The same response, which breaks off after `count` bytes of its body; a shorter one stays whole.
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
