/// What a Redis server answers to a command (RESP2).
public enum RedisReply: Sendable, Hashable {
  /// No value.
  case null
  /// A number.
  case integer(Int64)
  /// A short text of the server's, such as `OK`.
  case status(String)
  /// A value, whose bytes may be any.
  case bytes([UInt8])
  /// Several values.
  case array([RedisReply])
  /// The command failed: a code in capitals and a sentence.
  case error(String)

  /// The number it is or writes; nil for anything else.
  public var integer: Int64? {
    switch self {
    case .integer(let value): value
    case .bytes(let bytes): Int64(String(decoding: bytes, as: UTF8.self))
    default: nil
    }
  }

  /// The bytes of a value; nil for anything else.
  public var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

  /// The text of a value or a status, repaired where it is no UTF-8; nil for anything else.
  public var text: String? {
    switch self {
    case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
    case .status(let text): text
    default: nil
    }
  }

  /// The elements of an array; nil for anything else.
  public var array: [RedisReply]? { if case .array(let elements) = self { elements } else { nil } }
}
