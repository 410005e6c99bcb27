#if Queue
import CHiredis
import Glibc

/// One argument of a command, of any bytes.
public struct RedisArgument: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  let bytes: [UInt8]

  /// Creates an argument from bytes.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Creates an argument from the bytes of a text.
  public init(_ text: String) { bytes = Array(text.utf8) }

  /// Creates an argument from a number in decimal digits.
  public init(_ number: some BinaryInteger) { self.init(String(number)) }

  /// Creates an argument from the bytes of a text.
  public init(stringLiteral text: String) { self.init(text) }

  /// Creates an argument from a number in decimal digits.
  public init(integerLiteral number: Int) { self.init(String(number)) }

  /// Appends a command in the protocol's form: an array of strings with their lengths.
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

/// A Redis server's reply to a command (RESP2).
public enum RedisReply: Sendable, Hashable {
  /// No value.
  case null
  /// A number.
  case integer(Int64)
  /// A short text of the server, such as `OK`.
  case status(String)
  /// A value of any bytes.
  case bytes([UInt8])
  /// Several values.
  case array([RedisReply])
  /// The command failed: an upper-case code and a sentence.
  case error(String)

  /// The number that it is or contains; nil for anything else.
  public var integer: Int64? {
    switch self {
    case .integer(let value): value
    case .bytes(let bytes): Int64(String(decoding: bytes, as: UTF8.self))
    default: nil
    }
  }

  /// The bytes of a value; nil for anything else.
  public var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

  /// The text of a value or a status, with invalid UTF-8 replaced; nil for anything else.
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

/// hiredis' reader of replies: it takes bytes as they arrive, and returns complete replies.
struct ReplyReader: ~Copyable {
  /// Why no further reply can be read: the bytes aren't RESP, or exceed a limit.
  struct ProtocolError: Error { let sentence: String }

  private let reader: UnsafeMutablePointer<redisReader>

  init() {
    guard let reader = redis_create_reader() else { fatalError("out of memory") }
    self.reader = reader
  }

  deinit { redisReaderFree(reader) }

  /// Adds the next bytes of the connection.
  mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(ProtocolError) {
    guard redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count) == REDIS_OK else {
      throw error
    }
  }

  /// Returns the next reply; nil if more bytes are needed.
  mutating func next() throws(ProtocolError) -> RedisReply? {
    var reply: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &reply) == REDIS_OK else { throw error }
    guard let reply else { return nil }
    defer { freeReplyObject(reply) }
    return Self.converted(reply.assumingMemoryBound(to: redisReply.self))
  }

  private var error: ProtocolError {
    withUnsafeBytes(of: reader.pointee.errstr) { text in
      ProtocolError(sentence: String(decoding: text.prefix { $0 != 0 }, as: UTF8.self))
    }
  }

  /// The reader limits the depth to 7 (hiredis 1: 9), so this recursion is limited too.
  private static func converted(_ reply: UnsafePointer<redisReply>) -> RedisReply {
    let bytes = UnsafeRawBufferPointer(start: reply.pointee.str, count: reply.pointee.str == nil ? 0 : Int(reply.pointee.len))
    switch reply.pointee.type {
    case REDIS_REPLY_STRING: return .bytes(Array(bytes))
    case REDIS_REPLY_INTEGER: return .integer(reply.pointee.integer)
    case REDIS_REPLY_STATUS: return .status(String(decoding: bytes, as: UTF8.self))
    case REDIS_REPLY_ERROR: return .error(String(decoding: bytes, as: UTF8.self))
    case REDIS_REPLY_ARRAY:
      return .array(
        (0..<Int(reply.pointee.elements)).map { index in reply.pointee.element[index].map { converted($0) } ?? .null }
      )
    default: return .null
    }
  }
}
#endif
