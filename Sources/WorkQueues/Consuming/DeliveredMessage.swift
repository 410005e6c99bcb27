#if Queue
import ImagePrimitives
import RedisClient

/// A message as a script returns it: untrusted input.
struct DeliveredMessage {
  /// Larger counts of Redis mean this many, so that sums don't overflow.
  private static let maximumDeliveries: Int64 = 1 << 31

  let id: QueuedMessage.ID
  /// The number of deliveries from its stream.
  let deliveries: Int
  private let payload: [UInt8]?
  /// The number of earlier deliveries in a batch.
  private let deliveriesBefore: Int

  /// Parses an array of stream, id, deliveries and fields; nil for anything else.
  init?(_ reply: RedisReply) {
    guard let parts = reply.array, parts.count == 4, let stream = parts[0].integer.flatMap({ Int(exactly: $0) }),
      QueueStream.all.indices.contains(stream), let text = parts[1].text, let deliveries = parts[2].integer
    else { return nil }
    id = QueuedMessage.ID(stream: QueueStream.all[stream], text: text)
    self.deliveries = Int(min(max(0, deliveries), Self.maximumDeliveries))
    var payload: [UInt8]?
    var before = 0
    let fields = parts[3].array ?? []
    for index in stride(from: 0, to: fields.count - 1, by: 2) {
      switch fields[index].text {
      case "m": payload = fields[index + 1].bytes
      case "d": before = Int(clamping: min(fields[index + 1].count, 1000))
      default: break
      }
    }
    self.payload = payload
    deliveriesBefore = before
  }

  /// Decodes the message; it is given up if it was delivered more than `maximumDeliveries` times.
  func read(maximumDeliveries: Int) -> QueuedMessage {
    let all = deliveries + deliveriesBefore
    var (bytes, entries): ([UInt8], [QueuedEntry]) = ([], [])
    var failure: MessageError?
    do throws(MessageError) {
      guard let payload else { throw MessageError(description: "a message of the queue wasn't written by prewarm") }
      let decoder = try payload.withRawBytes { bytes throws(MessageError) in try MessageDecoder(bytes) }
      (bytes, entries) = (decoder.texts, decoder.entries)
    } catch {
      failure = error
    }
    return QueuedMessage(
      id: id,
      deliveries: all,
      isGivenUp: all > maximumDeliveries,
      error: failure,
      bytes: bytes,
      entries: entries
    )
  }
}

extension QueuedMessage {
  /// One message for each of its entries.
  var singles: [[UInt8]] {
    entries.map { entry in
      bytes.withUnsafeBytes { bytes in
        let state: NewQueuedEntry.State =
          switch entry.state {
          case .good: .good
          case .filtered: .filtered
          case .invalid(let sentence): .invalid(sentence: String(decoding: bytes[sentence], as: UTF8.self))
          }
        var encoder = MessageEncoder()
        encoder.append(
          NewQueuedEntry(
            url: UnsafeRawBufferPointer(rebasing: bytes[entry.url]),
            manifest: entry.manifest,
            line: entry.line,
            state: state
          )
        )
        return encoder.bytes
      }
    }
  }
}
#endif
