import Glibc

/// One line of an access log in the combined or the common format, as Apache and nginx write them.
///
///     192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] "GET /hero.jpg HTTP/1.1" 200 5120 "https://…" "Mozilla/5.0 …"
struct AccessLogLine {
  /// What a good GET asked for, with its escapes; nil for any other request.
  let target: UnsafeRawBufferPointer?

  /// nil where the line has another form.
  init?(_ line: UnsafeRawBufferPointer) {
    // Host, ident and user; the user may hold anything but a space. Then the time, which nothing here needs.
    var rest = line[...]
    for _ in 0..<3 {
      guard Self.takeField(&rest) != nil else { return nil }
    }
    guard rest.first == UInt8(ascii: "["), let close = rest.firstIndex(of: UInt8(ascii: "]")),
      rest[close...].starts(with: "] \"".utf8)
    else { return nil }
    rest = rest[(close + 3)...]
    guard let quote = Self.closingQuote(in: rest), rest[quote...].starts(with: "\" ".utf8) else { return nil }
    let request = rest[..<quote]
    rest = rest[(quote + 2)...]
    guard let status = Self.takeField(&rest), status.count == 3, status.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
      !rest.isEmpty
    else { return nil }
    target = Self.isGood(status) ? Self.target(of: request) : nil
  }

  /// The field up to the next space, which is passed over too.
  private static func takeField(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer>? {
    guard let space = rest.firstIndex(of: UInt8(ascii: " ")), space > rest.startIndex else { return nil }
    defer { rest = rest[(space + 1)...] }
    return rest[..<space]
  }

  private static func closingQuote(in text: Slice<UnsafeRawBufferPointer>) -> Int? {
    var isEscaped = false
    return text.firstIndex { byte in
      if byte == UInt8(ascii: "\""), !isEscaped { return true }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      return false
    }
  }

  private static func isGood(_ status: Slice<UnsafeRawBufferPointer>) -> Bool {
    status.elementsEqual("200".utf8) || status.elementsEqual("206".utf8) || status.elementsEqual("304".utf8)
  }

  /// What stands between the method and the version, which HTTP/0.9 has not; spaces in it are the client's mistake.
  private static func target(of request: Slice<UnsafeRawBufferPointer>) -> UnsafeRawBufferPointer? {
    guard request.starts(with: "GET ".utf8) else { return nil }
    let rest = request.dropFirst(4)
    var end = rest.endIndex
    if let space = rest.lastIndex(of: UInt8(ascii: " ")), rest[space...].starts(with: " HTTP/".utf8) { end = space }
    let target = UnsafeRawBufferPointer(rebasing: rest[..<end])
    return target.isEmpty ? nil : target
  }
}

/// The escapes of log files: `\xHH`, `\"`, `\\`, and those of C for white space.
enum LogEscapes {
  /// Appends the text without its escapes; a backslash that begins none stands for itself.
  static func appendUndone(_ text: UnsafeRawBufferPointer, to bytes: GrowingBytes) {
    var rest = text[...]
    while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
      bytes.append(UnsafeRawBufferPointer(rebasing: rest[..<backslash]))
      let (byte, length) = meaning(rest[backslash...])
      withUnsafeBytes(of: byte) { bytes.append($0) }
      rest = rest[(backslash + length)...]
    }
    bytes.append(UnsafeRawBufferPointer(rebasing: rest))
  }

  private static func meaning(_ text: Slice<UnsafeRawBufferPointer>) -> (byte: UInt8, length: Int) {
    guard text.count > 1 else { return (UInt8(ascii: "\\"), 1) }
    let letter = text[text.startIndex + 1]
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): return (letter, 2)
    case UInt8(ascii: "t"): return (9, 2)
    case UInt8(ascii: "n"): return (10, 2)
    case UInt8(ascii: "r"): return (13, 2)
    case UInt8(ascii: "x") where text.count > 3:
      let digits = text[(text.startIndex + 2)..<(text.startIndex + 4)]
      if digits.allSatisfy({ isxdigit(Int32($0)) != 0 }), let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) {
        return (byte, 4)
      }
    default: break
    }
    return (UInt8(ascii: "\\"), 1)
  }
}
