import CHiredis
import Glibc

/// hiredis' reader of replies: it is fed with bytes as they come and gives replies as they are whole.
struct ReplyReader: ~Copyable {
  /// Why no reply can be read any more: what came is no RESP, or nested or long beyond measure.
  struct Refusal: Error { let sentence: String }

  private let reader: UnsafeMutablePointer<redisReader>

  init() {
    guard let reader = redis_create_reader() else { fatalError("out of memory") }
    self.reader = reader
  }

  deinit { redisReaderFree(reader) }

  /// Takes the next bytes of the connection.
  mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
    guard redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count) == REDIS_OK else {
      throw refusal
    }
  }

  /// The next reply; nil where more bytes are needed.
  mutating func next() throws(Refusal) -> RedisReply? {
    var reply: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &reply) == REDIS_OK else { throw refusal }
    guard let reply else { return nil }
    defer { freeReplyObject(reply) }
    return Self.converted(reply.assumingMemoryBound(to: redisReply.self))
  }

  private var refusal: Refusal {
    withUnsafeBytes(of: reader.pointee.errstr) { text in
      Refusal(sentence: String(decoding: text.prefix { $0 != 0 }, as: UTF8.self))
    }
  }

  /// The reader limits the depth to 7 (hiredis 1: 9), so that this recursion is limited too.
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
