#if os(Linux)
import CConfinement
import Platform
import Base

/// What processes that decode send each other: a kind, numbers and texts.
struct WorkerMessage {
  enum Kind: Int {
    /// To the template: forks a worker that can decode a format; ends one. It answers with a number.
    case fork, end
    /// To a worker, with a file: decodes it, proves it, or makes the picture of an incomplete one.
    case decode, prove, picture
    /// From a worker: waits for memory; releases it; wants a file of so many bytes for pixels.
    case memory, release, pixels
    case granted
    /// From a worker: how an operation ended.
    case result, failure
  }

  let kind: Kind
  var numbers: [Int] = []
  var texts: [String] = []

  /// A socket keeps at least 208 KiB (socket(7), `wmem_default`).
  private static let maximumBytes = 64 << 10
  /// Coders have fewer and shorter sentences.
  private static let maximumTexts = 24
  private static let maximumTextBytes = 2048

  init(_ kind: Kind, _ numbers: [Int] = [], _ texts: [String] = []) {
    (self.kind, self.numbers, self.texts) = (kind, numbers, texts)
  }

  func send(to socket: Int32, file: Int32 = -1) throws(WorkerEnd) {
    let texts = texts.prefix(Self.maximumTexts).map { Array($0.utf8.prefix(Self.maximumTextBytes)) }
    let head = [kind.rawValue, numbers.count, texts.count] + numbers + texts.map(\.count)
    let bytes = head.withUnsafeBytes { Array($0) } + texts.joined()
    guard worker_send(socket, bytes, bytes.count, file) else { throw .gone }
  }

  /// Waits for the next message; with `file`, also for a descriptor, or -1.
  init(from socket: Int32, file: UnsafeMutablePointer<Int32>? = nil) throws(WorkerEnd) {
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.maximumBytes) { bytes, used in
      count = worker_receive(socket, bytes.baseAddress, bytes.count, file)
      used = max(0, count)
    }
    guard count > 0 else { throw .gone }
    guard let message = bytes.withUnsafeBytes({ Self($0) }) else { throw .invalid }
    self = message
  }

  /// Nil unless the bytes are exactly one message.
  private init?(_ bytes: UnsafeRawBufferPointer) {
    let words = bytes.count / 8
    func word(_ index: Int) -> Int { bytes.loadUnaligned(fromByteOffset: index * 8, as: Int.self) }
    guard words >= 3, let kind = Kind(rawValue: word(0)), (0...words).contains(word(1)),
      (0...Self.maximumTexts).contains(word(2)),
      3 + word(1) + word(2) <= words
    else { return nil }
    let lengths = (3 + word(1))..<(3 + word(1) + word(2))
    self.init(kind, (3..<lengths.lowerBound).map(word))
    var start = lengths.upperBound * 8
    for length in lengths.map(word) {
      guard (0...min(Self.maximumTextBytes, bytes.count - start)).contains(length) else { return nil }
      texts.append(String(decoding: bytes[start..<start + length], as: UTF8.self))
      start += length
    }
    guard start == bytes.count else { return nil }
  }

  /// The next number; throws unless it is in that range, as another process may be under foreign control.
  mutating func next(in range: ClosedRange<Int> = .min...(.max)) throws(WorkerEnd) -> Int {
    guard let number = numbers.first, range.contains(number) else { throw .invalid }
    numbers.removeFirst()
    return number
  }
}

/// Why a process didn't answer.
enum WorkerEnd: Error {
  case gone
  case invalid
  /// It was stopped after that processor time.
  case late(Duration)
  /// It did nothing for that time.
  case silent(Duration)
  /// This machine lacks something.
  case machine(String)
}

/// What a worker does with a file.
struct WorkerTask {
  var format: ImageFormat
  var byteCount: Int
  var options: DecodingOptions
  var limits: DecodingLimits

  init(_ format: ImageFormat, _ byteCount: Int, _ options: DecodingOptions, _ limits: DecodingLimits) {
    (self.format, self.byteCount, self.options, self.limits) = (format, byteCount, options, limits)
  }

  var numbers: [Int] {
    let time = limits.maximumTime.components
    return [
      Int(format.rawValue), byteCount, options.thumbnail?.width ?? -1, options.thumbnail?.height ?? -1,
      options.maximumBytes ?? -1,
      options.firstFrameOnly ? 1 : 0, limits.maximumPixels, limits.maximumScans, limits.maximumFrames, limits.maximumChunks,
      limits.maximumBytes ?? -1, Int(time.seconds), Int(time.attoseconds), limits.budget == nil ? 0 : 1,
    ]
  }

  /// The task of ``numbers``, which the program sent.
  init?(_ numbers: [Int], _ budget: DecodingBudget) {
    guard numbers.count == 14, let format = ImageFormat(rawValue: UInt8(numbers[0])) else { return nil }
    let known = numbers.map { $0 == -1 ? nil : $0 }
    options = DecodingOptions(
      thumbnail: known[2].map { ImageSize(width: $0, height: numbers[3]) },
      maximumBytes: known[4],
      firstFrameOnly: numbers[5] == 1
    )
    limits = DecodingLimits(
      maximumPixels: numbers[6],
      maximumScans: numbers[7],
      maximumFrames: numbers[8],
      maximumChunks: numbers[9],
      maximumBytes: known[10],
      maximumTime: Duration(secondsComponent: Int64(numbers[11]), attosecondsComponent: Int64(numbers[12])),
      budget: numbers[13] == 1 ? budget : nil
    )
    (self.format, byteCount) = (format, numbers[1])
  }

}

extension ImageError.Kind {
  /// The kinds that coders throw for whole files, in an order that both processes know, with the limit that some name.
  static func all(_ limit: Int) -> [Self] {
    [.undecodable, .notAnImage, .dimensions(maximumPixels: limit), .memory(maximumBytes: limit), .outOfMemory, .unavailable]
  }

  var limit: Int {
    switch self {
    case .dimensions(let limit), .memory(let limit): limit
    default: 0
    }
  }
}
#endif
