#if os(Linux)
import CConfinement
import Platform
import Base
import Synchronization

/// The process that workers are forked from: it has loaded what decoders need, and never sees an image.
///
/// Programs start it before they give up starting others. It has one thread, so that it can fork.
package enum DecodingTemplate {
  /// The argument that makes the command this process.
  package static let argument = "--decoding-template"
  fileprivate static let socket: Int32 = 0

  /// Serves until the program ends that started it.
  package static func run() -> Never {
    try? serve()
    // The workers end with the program, too. Their processor time counts as the program's only if this process waits for them. The alarm
    // ends it if one hangs, which kills that worker.
    alarm(1)
    while wait(nil) > 0 {}
    _exit(0)
  }

  private static func serve() throws(WorkerEnd) {
    while true {
      var connection: Int32 = -1
      let request = try WorkerMessage(from: socket, file: &connection)
      let answer: Int
      if request.kind == .fork, request.numbers.count == 2 {
        // Workers can't load libraries.
        if let format = ImageFormat(rawValue: UInt8(request.numbers[0])) {
          _ = ImageCoderRegistry.standard.whyUnavailable(format)
        }
        let process = worker_fork(connection)
        if process == 0 {
          worker_confine(request.numbers[1])
          DecodingWorker().run()
        }
        answer = process < 0 ? -Int(errno) : Int(process)
        close(connection)
      } else {
        answer = Int(worker_end(Int32(request.numbers[0])))
      }
      try WorkerMessage(.granted, [answer]).send(to: socket)
    }
  }
}

/// The process that decodes; it ends with the program.
private struct DecodingWorker {
  private let socket = DecodingTemplate.socket
  private let budget: DecodingBudget

  /// What an image may use without the program's leave, in bytes: most need less, and to ask for it takes 5 % of the time of an image.
  private static let freeBytes = 8 << 20

  init() {
    // The end of what wasn't asked for isn't reported either.
    let hasAsked = Atomic(false)
    budget = DecodingBudget { [socket] bytes in
      let asks = bytes.map { $0 > Self.freeBytes } ?? hasAsked.load(ordering: .relaxed)
      guard asks else { return }
      hasAsked.store(bytes != nil, ordering: .relaxed)
      do throws(WorkerEnd) {
        try WorkerMessage(bytes == nil ? .release : .memory, [bytes ?? 0]).send(to: socket)
        if bytes != nil { _ = try WorkerMessage(from: socket) }
      } catch {
        _exit(0)
      }
    }
  }

  func run() -> Never {
    do throws(WorkerEnd) { while true { try answer() } } catch { _exit(0) }
  }

  private func answer() throws(WorkerEnd) {
    var file: Int32 = -1
    let request = try WorkerMessage(from: socket, file: &file)
    guard let task = WorkerTask(request.numbers, budget) else { throw .invalid }
    let start = task.byteCount == 0 ? nil : mmap(nil, task.byteCount, PROT_READ, MAP_SHARED, file, 0)
    close(file)
    guard start != MAP_FAILED else { throw .gone }
    defer { munmap(start, task.byteCount) }
    var result = WorkerMessage(.result)
    do throws(ImageError) {
      let image = try decode(UnsafeRawBufferPointer(start: start, count: task.byteCount), task, request.kind, &result)
      if let image { send(image, in: &result) }
    } catch {
      let limit = error.kind.limit
      result = WorkerMessage(.failure, [limit, ImageError.Kind.all(limit).firstIndex(of: error.kind) ?? 0], [error.message])
    }
    try result.send(to: socket)
  }

  private func decode(
    _ bytes: UnsafeRawBufferPointer,
    _ task: WorkerTask,
    _ kind: WorkerMessage.Kind,
    _ result: inout WorkerMessage
  ) throws(ImageError) -> DecodedImage? {
    guard let coder = ImageCoderRegistry.standard.coder(for: task.format) else { return nil }
    switch kind {
    case .decode: return try coder.decode(bytes, options: task.options, limits: task.limits)
    case .picture: return try ImageCoderRegistry.standard.picture(ofPart: bytes, task.format, limits: task.limits)
    default:
      result.texts = try coder.proveDecodable(bytes, limits: task.limits).warnings
      return nil
    }
  }

  /// Writes the pixels and the durations of frames to a file of the program.
  private func send(_ image: DecodedImage, in result: inout WorkerMessage) {
    let frames = image.animation?.frames ?? []
    // Arrays that share their memory are equal at once.
    let isFirst = frames.first?.pixels == image.pixels
    result.texts = image.warnings
    result.numbers = [image.pixels.size.width, image.pixels.size.height]
    result.numbers += [image.animation?.loopCount ?? -1, frames.count, isFirst ? 1 : 0]
    let durations = frames.map { Int($0.duration / .milliseconds(1)) }.withUnsafeBytes { Array($0) }
    let parts = (isFirst ? [] : [image.pixels.bytes]) + frames.map(\.pixels.bytes) + [durations]
    var file: Int32 = -1
    do throws(WorkerEnd) {
      try WorkerMessage(.pixels, [parts.reduce(0) { $0 + $1.count }]).send(to: socket)
      _ = try WorkerMessage(from: socket, file: &file)
    } catch {
      _exit(0)
    }
    for part in parts { if !worker_write(file, part, part.count) { _exit(0) } }
    close(file)
  }
}
#endif
