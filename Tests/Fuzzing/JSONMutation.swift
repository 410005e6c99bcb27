/// Mutations that keep JSON valid, since the parser rejects invalid JSON at once and its code paths don't guide the search.
struct JSONMutation {
  private static let values = [
    "null", "true", "false", "0", "1", "-1", "7", "404", "999", "0.5", "1e15", "1e308", "4294967296", "1125899906842624",
    "9223372036854775807", "18446744073709551615", "\"\"", "\"1\"", "\"\\u0000\"", "\"\\ud83d\\ude00\"", "[]", "{}", "[[1,2]]",
    "{\"p99\":1}", "\"failed\"", "\"skipped\"", "\"http-status\"", "\"invalid-url\"", "\"http://[::1]:1/%00\"",
    "\"2026-11-22T01:05:53.452Z\"", "\"ffffffffffffffffffffffffffffffff\"",
  ].map { Array($0.utf8) }

  private var text: [UInt8]
  private var random: UInt64

  /// Mutates the first `count` bytes at random and returns their new number; nil if nothing can be mutated.
  static func mutate(_ bytes: UnsafeMutableRawBufferPointer, count: Int, seed: UInt32) -> Int? {
    var mutation = JSONMutation(text: Array(bytes[..<count]), random: UInt64(seed) << 1 | 1)
    for _ in 0...mutation.draw(4) { mutation.step() }
    guard !mutation.text.isEmpty, mutation.text.count <= bytes.count else { return nil }
    bytes.copyBytes(from: mutation.text)
    return mutation.text.count
  }

  /// A number below `limit`, by xorshift.
  private mutating func draw(_ limit: Int) -> Int {
    random ^= random << 13
    random ^= random >> 7
    random ^= random << 17
    return Int((random >> 16) % UInt64(limit))
  }

  private mutating func step() {
    let parts = JSONParts(text)
    guard !parts.tokens.isEmpty, !parts.pieces.isEmpty else { return }
    let token = parts.tokens[draw(parts.tokens.count)]
    let piece = parts.pieces[draw(parts.pieces.count)]
    switch draw(6) {
    case 0, 1: replace(token, Self.values[draw(Self.values.count)])
    case 2: replace(token, Array(text[parts.tokens[draw(parts.tokens.count)]]))
    case 3: changeByte(of: token)
    case 4: remove(piece)
    default:
      let other = parts.pieces[draw(parts.pieces.count)]
      text.insert(contentsOf: text[other] + [separator(behind: piece)], at: piece.lowerBound)
    }
  }

  /// Keys are replaced by strings only.
  private mutating func replace(_ token: Range<Int>, _ value: [UInt8]) {
    let isKey = token.upperBound < text.count && text[token.upperBound] == UInt8(ascii: ":")
    if !isKey || value.first == UInt8(ascii: "\"") { text.replaceSubrange(token, with: value) }
  }

  /// Replaces a digit by another digit, or a letter by another letter.
  private mutating func changeByte(of token: Range<Int>) {
    let offset = token.lowerBound + draw(token.count)
    switch text[offset] {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): text[offset] = UInt8(ascii: "0") + UInt8(draw(10))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): text[offset] = UInt8(ascii: "a") + UInt8(draw(26))
    default: break
    }
  }

  private func separator(behind piece: Range<Int>) -> UInt8 {
    piece.upperBound < text.count && text[piece.upperBound] != UInt8(ascii: "\n") ? UInt8(ascii: ",") : UInt8(ascii: "\n")
  }

  /// Removes a piece with the comma or line feed after it, or else with the comma before it.
  private mutating func remove(_ piece: Range<Int>) {
    let separators: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: "\n")]
    if piece.upperBound < text.count, separators.contains(text[piece.upperBound]) {
      text.removeSubrange(piece.lowerBound...piece.upperBound)
    } else if piece.lowerBound > 0, separators.contains(text[piece.lowerBound - 1]) {
      text.removeSubrange(piece.lowerBound - 1..<piece.upperBound)
    } else {
      text.removeSubrange(piece)
    }
  }
}

/// The parts of JSON texts, one per line; arbitrary ranges for invalid JSON.
private struct JSONParts {
  /// Strings, numbers and names.
  private(set) var tokens: [Range<Int>] = []
  /// Members of objects, elements of arrays, and lines.
  private(set) var pieces: [Range<Int>] = []

  init(_ text: [UInt8]) {
    var starts = [0]
    var offset = 0
    func end(_ start: Int) { if start < offset { pieces.append(start..<offset) } }
    while offset < text.count {
      switch text[offset] {
      case UInt8(ascii: "["), UInt8(ascii: "{"): starts.append(offset + 1)
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        if starts.count > 1 { end(starts.removeLast()) }
      case UInt8(ascii: "\n") where starts.count > 1: break
      case UInt8(ascii: ","), UInt8(ascii: "\n"):
        end(starts.removeLast())
        starts.append(offset + 1)
      case UInt8(ascii: " "), UInt8(ascii: ":"): break
      default:
        let token = offset..<Self.end(ofTokenAt: offset, text)
        tokens.append(token)
        offset = token.upperBound - 1
      }
      offset += 1
    }
    end(starts[0])
  }

  private static func end(ofTokenAt start: Int, _ text: [UInt8]) -> Int {
    guard text[start] == UInt8(ascii: "\"") else {
      return text[start...].firstIndex { " ,:[]{}\"\n".utf8.contains($0) } ?? text.count
    }
    var end = start + 1
    while end < text.count, text[end] != UInt8(ascii: "\"") { end += text[end] == UInt8(ascii: "\\") ? 2 : 1 }
    return min(end + 1, text.count)
  }
}
