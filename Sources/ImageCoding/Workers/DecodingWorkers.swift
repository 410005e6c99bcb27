#if os(Linux)
import CConfinement
import Platform
import Base
import Synchronization

/// Processes that decode images without files, network, environment, or more memory than ``DecodingLimits`` allow.
///
/// An image whose decoder crashes, hangs or takes too much memory is then ``ImageError/Kind/undecodable``, and nothing else is lost.
/// Workers give up their rights by seccomp and Landlock as far as the kernel has them. Each thread that decodes uses one at a time. They
/// end with the last reference.
public final class DecodingWorkers: Sendable {
  private let socket: Int32
  /// The process that workers come from.
  package let process: Int32
  private let patience: Duration
  /// The formats that the template has loaded; locked while it is asked.
  private let formats = Mutex<Set<ImageFormat>>([])
  private let idle = Mutex<[DecodingProcess]>([])

  /// Addresses besides the images': mimalloc reserves 32 MiB at a time, and up to twice as much to align them.
  private static let slack = 128 << 20
  /// A worker that an image may have damaged decodes few others.
  private static let maximumImages = 1000

  /// Starts the process that workers come from.
  ///
  /// - Parameter command: The path of the command `prewarm` in this version, such as `/usr/bin/prewarm`.
  public convenience init(command: String) throws(ImageError) { try self.init(command: command, patience: .seconds(60)) }

  /// Stops workers that use no processor time for as long as `patience`.
  package init(command: String, patience: Duration) throws(ImageError) {
    let file = worker_file(nil, 0)
    var process: pid_t = 0
    let socket = file < 0 ? -1 : worker_spawn(command, DecodingTemplate.argument, &process)
    let reason = errorSentence()
    if file >= 0 { close(file) }
    guard socket >= 0 else { throw ImageError(.unavailable, "cannot start decoders with \(command): \(reason)") }
    (self.socket, self.process, self.patience) = (socket, process, patience)
  }

  deinit {
    idle.withLock { $0 = [] }
    close(socket)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
  }

  /// Gives a file to a worker, and to a new one if the first crashed and had got others before.
  func perform(
    _ kind: WorkerMessage.Kind,
    _ bytes: UnsafeRawBufferPointer,
    _ task: WorkerTask
  ) throws(ImageError) -> DecodingExchange.Answer {
    while true {
      let worker = try take(task.format, memory: min(task.limits.allowedBytes, 1 << 46) + bytes.count)
      let count = worker.served.add(1, ordering: .relaxed).newValue
      let answer: Result<DecodingExchange.Answer, ImageError>
      do throws(WorkerEnd) {
        var exchange = DecodingExchange(worker, task, patience)
        answer = try exchange.perform(kind, bytes)
      } catch {
        let status = end(worker)
        if case .gone = error, count > 1 { continue }
        throw Self.verdict(error, status)
      }
      if count < Self.maximumImages { idle.withLock { $0.append(worker) } } else { _ = end(worker) }
      do throws(ImageError) { return try answer.get() } catch { throw Self.verdict(error, task.limits) }
    }
  }

  /// An idle worker that suffices, in place of any other one, or a new one.
  private func take(_ format: ImageFormat, memory: Int) throws(ImageError) -> DecodingProcess {
    let (found, replaced) = idle.withLock { idle -> (DecodingProcess?, DecodingProcess?) in
      let index = idle.lastIndex { $0.formats.contains(format) && $0.memory >= memory }
      return if let index { (idle.remove(at: index), nil) } else { (nil, idle.popLast()) }
    }
    if let replaced { _ = end(replaced) }
    if let found { return found }
    do throws(WorkerEnd) { return try fork(format, memory: memory + Self.slack) } catch { throw Self.verdict(error, -1) }
  }

  private func fork(_ format: ImageFormat, memory: Int) throws(WorkerEnd) -> DecodingProcess {
    var sockets: [Int32] = [-1, -1]
    guard worker_connect(&sockets) else { throw .machine(errorSentence()) }
    defer { close(sockets[1]) }
    do throws(WorkerEnd) {
      return try formats.withLock { formats throws(WorkerEnd) -> DecodingProcess in
        let process = try ask(.fork, [Int(format.rawValue), memory + Self.slack], file: sockets[1])
        if process < 0 { throw .machine(errorSentence(Int32(-process))) }
        formats.insert(format)
        return DecodingProcess(socket: sockets[0], process: Int32(process), formats: formats, memory: memory)
      }
    } catch {
      close(sockets[0])
      throw error
    }
  }

  /// Ends a worker and returns its status; -1 if the template has ended.
  private func end(_ worker: DecodingProcess) -> Int32 {
    formats.withLock { _ in
      do throws(WorkerEnd) { return Int32(truncatingIfNeeded: try ask(.end, [Int(worker.process)])) } catch { return -1 }
    }
  }

  private func ask(_ kind: WorkerMessage.Kind, _ numbers: [Int], file: Int32 = -1) throws(WorkerEnd) -> Int {
    try WorkerMessage(kind, numbers).send(to: socket, file: file)
    var answer = try WorkerMessage(from: socket)
    return try answer.next(in: -(1 << 32)...(1 << 32))
  }

  /// The error for an image whose worker ended so; of kind ``ImageError/Kind/outOfMemory`` if the image may be good.
  private static func verdict(_ end: WorkerEnd, _ status: Int32) -> ImageError {
    switch end {
    case .late(let time): return .undecodable("the decoder was stopped after \(time) of processor time")
    case .silent(let time): return .undecodable("the decoder was stopped after \(time) without progress")
    case .invalid: return .undecodable("the decoder sent an invalid result")
    case .machine(let reason): return ImageError(.outOfMemory, "cannot start a decoder: \(reason)")
    case .gone: break
    }
    var number: Int32 = 0
    guard status >= 0 else { return ImageError(.outOfMemory, "cannot start a decoder: its parent process has ended") }
    guard let name = worker_signal(status, &number) else { return .undecodable("the decoder exited with status \(status >> 8)") }
    switch number {
    // The kernel's choice if memory runs out, or somebody else's.
    case SIGKILL: return ImageError(.outOfMemory, "the decoder was killed (SIGKILL); the machine may have too little memory")
    case SIGSYS: return .undecodable("the decoder crashed (SIGSYS: a forbidden system call)")
    default: return .undecodable("the decoder crashed (SIG\(String(cString: name)))")
    }
  }

  /// The error of a coder: out of memory means that the image needs more than its limit, unless the machine has less.
  private static func verdict(_ error: ImageError, _ limits: DecodingLimits) -> ImageError {
    let memory = sysconf(Int32(_SC_PHYS_PAGES)).saturated(times: sysconf(Int32(_SC_PAGESIZE)))
    guard error.kind == .outOfMemory, limits.allowedBytes < memory else { return error }
    return .undecodable("the decoder exceeded \(limits.allowedBytes) bytes of memory")
  }
}
#endif
