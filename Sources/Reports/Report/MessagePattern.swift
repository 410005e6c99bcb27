/// The message of several failures: the words that they share, and the parts in which they may differ, which are numbers, URLs, quoted
/// texts and the name of the entry's host.
struct MessagePattern: Equatable {
  private static let gap = "…"
  /// Longer messages are compared as a whole, since a server decides how long a message is.
  private static let lengthLimit = 2000

  /// Words and parts in turn; the first and the last are words.
  private var pieces: [String] = []

  init(_ message: String, host: String? = nil) {
    guard message.utf8.count <= Self.lengthLimit else {
      pieces = [message]
      return
    }
    var scanner = PartScanner(Array(message.utf8), host: host.map { Array($0.nameOfHost.utf8) } ?? [])
    var start = 0
    while let part = scanner.next() {
      pieces.append(scanner.text(start..<part.lowerBound))
      pieces.append(scanner.text(part))
      start = part.upperBound
    }
    pieces.append(scanner.text(start..<scanner.count))
  }

  /// The shared words, the same for all messages that differ in their parts only.
  var words: String { pieces.indices.map { $0.isMultiple(of: 2) ? pieces[$0] : Self.gap }.joined() }

  /// The message, in which an ellipsis stands for parts that differ.
  var text: String { pieces.joined() }

  /// Keeps the parts that another message with the same words has, too.
  mutating func keepCommonParts(with other: MessagePattern) {
    for index in pieces.indices where pieces[index] != other.pieces[index] { pieces[index] = Self.gap }
  }
}

extension MessagePattern? {
  /// Keeps what another message has in common with those so far; nil if nothing.
  mutating func keepCommonParts(with other: MessagePattern) {
    guard let pattern = self, pattern != other else { return }
    if pattern.words == other.words { self!.keepCommonParts(with: other) } else { self = nil }
  }
}

/// Finds the parts of a message that may differ from failure to failure.
private struct PartScanner {
  private let bytes: [UInt8]
  private let host: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8], host: [UInt8]) { (self.bytes, self.host) = (bytes, host) }
  var count: Int { bytes.count }
  func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  mutating func next() -> Range<Int>? {
    while position < bytes.count {
      if let part = part(at: position) {
        position = part.upperBound
        // An empty quoted text ends where it begins.
        if part.isEmpty { position += 1 }
        return part
      }
      position += 1
    }
    return nil
  }

  private func part(at start: Int) -> Range<Int>? {
    let byte = bytes[start]
    if byte == UInt8(ascii: "h") || !host.isEmpty, let end = endOfURL(start) ?? endOfHost(start) { return start..<end }
    if isDigit(start) {
      var end = start + 1
      while isDigit(end) || (isOne(end, of: ".,") && isDigit(end + 1)) { end += 1 }
      return start..<end
    }
    if byte == UInt8(ascii: "'"), start == 0 || isOne(start - 1, of: " (") {
      let close = bytes[(start + 1)...].indices.first { bytes[$0] == UInt8(ascii: "'") && !isLetter($0 + 1) }
      return close.map { start + 1..<$0 }
    }
    return has("…".utf8, at: start) ? start..<start + 3 : nil
  }

  private func endOfURL(_ start: Int) -> Int? {
    guard has("http://".utf8, at: start) || has("https://".utf8, at: start) else { return nil }
    return (start..<bytes.count).first { isOne($0, of: " '") || isOne($0, of: ",;") && isOne($0 + 1, of: " ") } ?? bytes.count
  }

  private func endOfHost(_ start: Int) -> Int? {
    guard !host.isEmpty, has(host, at: start), start == 0 || !isPartOfName(start - 1), !isPartOfName(start + host.count)
    else { return nil }
    return start + host.count
  }

  /// Whether the text is there, in any letter case.
  private func has(_ text: some Collection<UInt8>, at start: Int) -> Bool {
    guard start + text.count <= bytes.count, let first = text.first, bytes[start] | 0x20 == first | 0x20 else { return false }
    return zip(text, bytes[start...]).allSatisfy { $0 == $1 || ($0 | 0x20 == $1 | 0x20 && isASCIILetter($0)) }
  }

  private func isOne(_ index: Int, of text: StaticString) -> Bool {
    index < bytes.count && UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount).contains(bytes[index])
  }
  private func isDigit(_ index: Int) -> Bool { index < bytes.count && (0x30...0x39).contains(bytes[index]) }
  private func isLetter(_ index: Int) -> Bool { index < bytes.count && (isASCIILetter(bytes[index]) || bytes[index] >= 0x80) }
  private func isPartOfName(_ index: Int) -> Bool { isLetter(index) || isDigit(index) || isOne(index, of: "-_") }
  private func isASCIILetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}

extension String {
  /// A host without its port.
  fileprivate var nameOfHost: String {
    guard let colon = lastIndex(of: ":"), self[index(after: colon)...].allSatisfy(\.isNumber),
      !self[..<colon].contains(":") || self[..<colon].hasSuffix("]")
    else { return self }
    return String(self[..<colon])
  }

  /// The host and port of a URL as it is shown, without user name, password and the port of its scheme; nil if it has no authority.
  var hostAndPort: String? {
    guard let colon = firstIndex(of: ":"), self[colon...].hasPrefix("://") else { return nil }
    let authority = self[colon...].dropFirst(3).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let host = (authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority).lowercased()
    for (scheme, port) in [("https", ":443"), ("http", ":80")] where self[..<colon].lowercased() == scheme && host.hasSuffix(port)
    {
      return String(host.dropLast(port.count))
    }
    return host.isEmpty ? nil : host
  }
}
