/// One word of a command: bytes, which may be any.
public struct RedisArgument: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  let bytes: [UInt8]

  /// These bytes.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The bytes of a text.
  public init(_ text: String) { bytes = Array(text.utf8) }

  /// A number in decimal digits.
  public init(_ number: some BinaryInteger) { self.init(String(number)) }

  /// The bytes of a text.
  public init(stringLiteral text: String) { self.init(text) }

  /// A number in decimal digits.
  public init(integerLiteral number: Int) { self.init(String(number)) }

  /// Appends a command as the protocol writes it: an array of strings with their lengths.
  static func append(_ arguments: some Collection<RedisArgument>, to buffer: inout [UInt8]) {
    appendLine("*", arguments.count, to: &buffer)
    for argument in arguments {
      appendLine("$", argument.bytes.count, to: &buffer)
      buffer += argument.bytes
      buffer += "\r\n".utf8
    }
  }

  private static func appendLine(_ mark: Unicode.Scalar, _ number: Int, to buffer: inout [UInt8]) {
    buffer.append(UInt8(ascii: mark))
    buffer += String(number).utf8
    buffer += "\r\n".utf8
  }
}
