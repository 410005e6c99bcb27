import Glibc

/// One file that tells of memory pressure, opened: what to `poll` for, and what an event on it means.
struct MemoryPressureWatch: ~Copyable, Sendable {
  /// Why a file cannot be watched, in a few words.
  struct Refusal: Error { let reason: String }

  /// What the poll of a watched file brought.
  enum Finding { case pressure, nothing, gone }

  /// The trigger: tasks stalled for 200 ms within 2 s, as systemd's MEMORY_PRESSURE_WRITE asks for by default. Who has not
  /// CAP_SYS_RESOURCE may ask only for windows of whole two seconds (`psi.rst`).
  static let trigger = "some 200000 2000000"

  let path: String
  let descriptor: FileDescriptor
  /// What to poll the descriptor for.
  let awaited: Int16
  /// The counts when they were last read; nil for stall information.
  private var events: MemoryEvents?

  /// Puts a trigger on a file of pressure stall information.
  init(stallFile path: String) throws(Refusal) {
    let number = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { throw Refusal(reason: errorSentence()) }
    let descriptor = FileDescriptor(owning: number)
    // The kernel takes the end of the string along with it.
    let isTaken = Self.trigger.withCString { text in
      writeAll(UnsafeRawBufferPointer(start: text, count: Self.trigger.utf8.count + 1), to: number)
    }
    guard isTaken else { throw Refusal(reason: "it takes no trigger: \(errorSentence())") }
    self.init(path: path, descriptor: descriptor, awaited: Int16(POLLPRI), events: nil)
  }

  /// Watches the counts of a file `memory.events`, of whose changes inotify tells.
  init(eventFile path: String) throws(Refusal) {
    let number = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard number >= 0 else { throw Refusal(reason: errorSentence()) }
    let descriptor = FileDescriptor(owning: number)
    guard inotify_add_watch(number, path, UInt32(IN_MODIFY)) >= 0 else { throw Refusal(reason: errorSentence()) }
    guard let text = readText(path) else { throw Refusal(reason: errorSentence()) }
    guard let events = MemoryEvents(text) else { throw Refusal(reason: "it does not count high, max and oom") }
    self.init(path: path, descriptor: descriptor, awaited: Int16(POLLIN), events: events)
  }

  /// A descriptor that a test made: it is watched as stall information is.
  init(path: String, descriptor: consuming FileDescriptor, awaited: Int16, events: MemoryEvents?) {
    self.path = path
    self.descriptor = descriptor
    self.awaited = awaited
    self.events = events
  }

  /// What a poll that returned `returned` means.
  mutating func finding(_ returned: Int16) -> Finding {
    guard let earlier = events else {
      // POLLERR: the control group is gone.
      if returned & Int16(POLLERR | POLLNVAL) != 0 { return .gone }
      return returned & awaited != 0 ? .pressure : .nothing
    }
    let isWatched = drain()
    guard let now = readText(path).flatMap({ MemoryEvents($0) }) else { return isWatched ? .nothing : .gone }
    events = now
    return now.hasRisen(since: earlier) ? .pressure : isWatched ? .nothing : .gone
  }

  /// Reads what inotify has to tell; false once it has told that the file is gone.
  private func drain() -> Bool {
    var isWatched = true
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
      while true {
        let count = uninterrupted { read(descriptor.number, buffer.baseAddress, buffer.count) }
        if count <= 0 { return }
        var offset = 0
        while offset < count {
          let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
          if event.mask & UInt32(IN_IGNORED) != 0 { isWatched = false }
          offset += MemoryLayout<inotify_event>.size + Int(event.len)
        }
      }
    }
    return isWatched
  }
}
