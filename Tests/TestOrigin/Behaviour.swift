import NIOHTTP1
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
  public static func body(_ bytes: [UInt8], type: String? = nil, status: Int = 200, headers: HeaderFields = [:]) -> Behaviour {
    Behaviour(.head(responseHead(status, type: type, length: bytes.count, headers)), .body(bytes))
  }

  /// A text of that type, by default a page.
  public static func text(_ text: String, type: String = "text/html") -> Behaviour { .body(Array(text.utf8), type: type) }

  public static func jpeg(_ number: Int = 1, padding: Int = 0, headers: HeaderFields = [:]) -> Behaviour {
    .body(SampleImages.jpeg(number, padding: padding), type: "image/jpeg", headers: headers)
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

/// Faulty responses.
///
/// A part of a body is the beginning of `body`, padded with zeros.
extension Behaviour {
  /// Declares a length, sends another number of bytes, and closes.
  public static func cut(afterBytes count: Int, declared: Int, of body: [UInt8] = [], type: String? = nil) -> Behaviour {
    Behaviour(.head(responseHead(200, type: type, length: declared)), .body(beginning(of: body, count)), .close)
  }

  public static var reset: Behaviour { Behaviour(.reset) }

  /// Resets the connection (RST) in the middle of the body.
  public static func reset(afterBytes count: Int, declared: Int, of body: [UInt8] = [], type: String? = nil) -> Behaviour {
    Behaviour(.head(responseHead(200, type: type, length: declared)), .body(beginning(of: body, count)), .reset)
  }

  public static var close: Behaviour { Behaviour(.close) }

  /// Reads the request and sends nothing until the client disconnects.
  public static var stall: Behaviour { Behaviour(.stall) }

  /// Sends the beginning of the body and then nothing more until the client disconnects.
  public static func stall(afterBytes count: Int, declared: Int, of body: [UInt8] = [], type: String? = nil) -> Behaviour {
    Behaviour(.head(responseHead(200, type: type, length: declared)), .body(beginning(of: body, count)), .stall)
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

public enum BreakOff: Sendable {
  case close
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

/// Responses to requests for a part of a body (RFC 9110, section 14).
extension Behaviour {
  /// A body, or the part that `Range` requests as 206; 416 if that begins after the end. Supports one range of the form `bytes=N-M` or
  /// `bytes=N-`, and ignores others. If `If-Range` is neither the `ETag` nor the `Last-Modified` of `headers`, the whole body is sent.
  public static func ranged(_ bytes: [UInt8], type: String? = nil, headers: HeaderFields = [:]) -> Behaviour {
    .computed { request in
      guard request.headers["If-Range"].map({ [headers["ETag"], headers["Last-Modified"]].contains($0) }) ?? true,
        let range = request.headers["Range"].flatMap(requestedRange)
      else { return .body(bytes, type: type, headers: headers) }
      guard range.lowerBound < bytes.count else {
        return .status(416, headers: ["Content-Range": "bytes */\(bytes.count)"])
      }
      return .part(range.lowerBound..<min(range.upperBound, bytes.count), of: bytes, type: type, headers: headers)
    }
  }

  /// A part of a body as 206, whatever was requested; `total` is the declared length of the whole body.
  public static func part(
    _ range: Range<Int>,
    of bytes: [UInt8],
    total: String? = nil,
    type: String? = nil,
    headers: HeaderFields = [:]
  ) -> Behaviour {
    let contentRange = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total ?? "\(bytes.count)")"
    let headers = HeaderFields([("Content-Range", contentRange)] + headers.fields)
    return .body(Array(bytes[range]), type: type, status: 206, headers: headers)
  }
}

/// Nil for anything but a single range with a first byte.
private func requestedRange(_ value: String) -> Range<Int>? {
  guard value.hasPrefix("bytes=") else { return nil }
  let ends = value.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
  guard ends.count == 2, let first = Int(ends[0]) else { return nil }
  guard !ends[1].isEmpty else { return first..<Int.max }
  guard let last = Int(ends[1]), last >= first else { return nil }
  return first..<last + 1
}

/// The bytes of a status line and its header fields, with the empty line that ends them.
func responseHead(_ status: Int, type: String? = nil, length: Int? = nil, _ headers: HeaderFields = [:]) -> [UInt8] {
  var text = "HTTP/1.1 \(status) \(HTTPResponseStatus(statusCode: status).reasonPhrase)\r\n"
  if let type { text += "Content-Type: \(type)\r\n" }
  if let length, mayHaveLength(status) { text += "Content-Length: \(length)\r\n" }
  for (name, value) in headers.fields { text += "\(name): \(value)\r\n" }
  return Array((text + "\r\n").utf8)
}

/// No Content-Length with 1xx and 204 (RFC 9110, section 8.6); with 304 it would be that of another response.
private func mayHaveLength(_ status: Int) -> Bool { !(100..<200).contains(status) && status != 204 && status != 304 }

/// The media type that web servers use for a file with that extension.
func mediaType(ofFile path: String) -> String {
  switch path.split(separator: ".").last?.lowercased() {
  case "jpg", "jpeg": "image/jpeg"
  case "png": "image/png"
  case "webp": "image/webp"
  case "gif": "image/gif"
  case "txt": "text/plain"
  case "html": "text/html"
  case "json": "application/json"
  default: "application/octet-stream"
  }
}
