#if os(Linux)
import CConfinement
import Platform
import Base
import Synchronization

/// A worker of ``DecodingWorkers``; closing its socket ends it.
final class DecodingProcess: Sendable {
  let socket: Int32
  let process: Int32
  /// The formats that it can decode.
  let formats: Set<ImageFormat>
  /// The memory that it may use for one image.
  let memory: Int
  /// The number of images that it has been given.
  let served = Atomic(0)

  init(socket: Int32, process: Int32, formats: Set<ImageFormat>, memory: Int) {
    (self.socket, self.process, self.formats, self.memory) = (socket, process, formats, memory)
  }

  deinit { close(socket) }

  /// The processor time that it has used.
  var time: Duration {
    var (clock, time) = (clockid_t(), timespec())
    guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else { return .zero }
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

/// One image's way through a worker, which isn't trusted.
struct DecodingExchange: ~Copyable {
  /// What a worker made of an image, without its header.
  struct Answer {
    var warnings: [String]
    var frames: [DecodedImage.Frame] = []
    /// Nil for a still image.
    var loopCount: Int?
    /// Whether the first of `frames` isn't one of the animation.
    var hasStill = false
  }

  private let worker: DecodingProcess
  private let task: WorkerTask
  private let patience: Duration
  private let start: Duration
  /// A file for pixels, and its size.
  private var pixels: (file: Int32, count: Int)?

  /// How long a decoder may exceed its own limit of processor time.
  private static let grace = Duration.seconds(2)

  init(_ worker: DecodingProcess, _ task: WorkerTask, _ patience: Duration) {
    (self.worker, self.task, self.patience, start) = (worker, task, patience, worker.time)
  }

  deinit { if let pixels { close(pixels.file) } }

  mutating func perform(_ kind: WorkerMessage.Kind, _ bytes: UnsafeRawBufferPointer) throws(WorkerEnd) -> Result<
    Answer, ImageError
  > {
    let file = worker_file(bytes.baseAddress, bytes.count)
    guard file >= 0 else { throw .machine(errorSentence()) }
    do {
      defer { close(file) }
      try WorkerMessage(kind, task.numbers).send(to: worker.socket, file: file)
    }
    var message = try serve(isSpending: false)
    if message.kind == .failure, let sentence = message.texts.first {
      let kinds = ImageError.Kind.all(try message.next(in: 0...(.max)))
      return .failure(ImageError(kinds[try message.next(in: 0...kinds.count - 1)], sentence))
    }
    guard message.kind == .result else { throw .invalid }
    var answer = Answer(warnings: message.texts)
    if pixels != nil { try read(message, into: &answer) }
    guard kind != .decode || pixels != nil else { throw .invalid }
    return .success(answer)
  }

  /// Serves the worker until it has a result, or while it uses memory.
  private mutating func serve(isSpending: Bool) throws(WorkerEnd) -> WorkerMessage {
    while true {
      var message = try next()
      switch message.kind {
      case .memory where !isSpending:
        let count = try message.next(in: 0...task.limits.allowedBytes)
        guard let budget = task.limits.budget else { throw .invalid }
        message = try budget.spending(count) { () throws(WorkerEnd) in
          try WorkerMessage(.granted).send(to: worker.socket)
          return try serve(isSpending: true)
        }
        if message.kind != .release { return message }
      case .pixels where pixels == nil:
        let count = try message.next(in: 0...task.limits.allowedBytes + 1 << 20)
        let file = worker_file(nil, count)
        guard file >= 0 else { throw .machine(errorSentence()) }
        pixels = (file, count)
        try WorkerMessage(.granted).send(to: worker.socket, file: file)
      case .release where isSpending, .result, .failure: return message
      default: throw .invalid
      }
    }
  }

  /// The next message; throws if the worker uses too much time, or none.
  private func next() throws(WorkerEnd) -> WorkerMessage {
    var socket = pollfd(fd: worker.socket, events: Int16(POLLIN), revents: 0)
    let allowed = task.limits.maximumTime + Self.grace
    var (used, silence) = (Duration.zero, Duration.zero)
    while used < allowed {
      let time = min(allowed - used, patience - silence)
      let count = poll(&socket, 1, Int32(clamping: Int(time / .milliseconds(1)) + 1))
      if count > 0 { return try WorkerMessage(from: worker.socket) }
      let now = worker.time - start
      silence = now > used ? .zero : silence + (count == 0 ? time : .zero)
      guard silence < patience else { throw .silent(patience) }
      used = now
    }
    throw .late(allowed)
  }

  /// Reads the pictures that the worker wrote, and the durations of an animation's.
  private func read(_ message: WorkerMessage, into answer: inout Answer) throws(WorkerEnd) {
    var message = message
    let size = ImageSize(width: try message.next(in: 1...(1 << 32)), height: try message.next(in: 1...(1 << 32)))
    let (loopCount, frames) = (try message.next(in: -1...(.max)), try message.next(in: 0...(1 << 32)))
    let pictures = frames + 1 - (try message.next(in: 0...1))
    guard let pixels, pictures > 0, (loopCount < 0) == (frames == 0), size.pixels <= pixels.count / 4 / pictures,
      size.pixels * 4 * pictures + frames * 8 == pixels.count
    else { throw .invalid }
    answer.loopCount = loopCount < 0 ? nil : loopCount
    answer.hasStill = pictures > frames
    let durations = try part(size.pixels * 4 * pictures, frames * 8)
    for index in 0..<pictures {
      let buffer = PixelBuffer(size: size, bytes: try part(index * size.pixels * 4, size.pixels * 4))
      let frame = index - (answer.hasStill ? 1 : 0)
      let duration = frame < 0 ? 0 : durations.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: frame * 8, as: Int.self) }
      answer.frames.append(DecodedImage.Frame(pixels: buffer, duration: .milliseconds(duration)))
    }
  }

  /// A part of the file of pixels.
  private func part(_ offset: Int, _ count: Int) throws(WorkerEnd) -> [UInt8] {
    guard let file = pixels?.file else { throw .invalid }
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { bytes, used in
      while used < count {
        let read = pread(file, bytes.baseAddress! + used, count - used, off_t(offset + used))
        guard read > 0 else { return }
        used += read
      }
    }
    guard bytes.count == count else { throw .invalid }
    return bytes
  }
}
#endif
