import CLinux
import Glibc
import Synchronization
import Threads
import ImagePrimitives

/// Calls a closure when memory is short, to empty a ``MemoryCache`` for example.
///
/// It asks the kernel to wake it and never polls by a clock. Pressure stall information is best: it tells that work waits for
/// memory. Where the kernel gives no trigger on it, the counts `high`, `max` and `oom` of the control group's `memory.events` stand in; they
/// rise also where only the page cache is pressed against the group's limit.
public final class MemoryPressureMonitor: Sendable {
  /// Nothing tells of memory pressure here.
  public struct Unavailable: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence that names each file that was tried, and why it does not do.
    public let description: String
  }

  /// The file that is watched: the first of the sources that can be.
  public let watchedFile: String

  private let stopping: StopSignal
  private let thread: Mutex<WorkerThread?>

  /// Begins to watch, on a thread of its own.
  ///
  /// - Parameters:
  ///   - sources: Where to look; the first file that can be watched is, those of stall information before the others.
  ///   - onPressure: Called on that thread when memory is short: by stall information at most once in two seconds. It may let go of
  ///     the monitor, and may stop it.
  /// - Throws: ``Unavailable`` where none of the files can be watched, or the system gives no thread.
  public convenience init(
    sources: MemoryPressureSources = .system,
    onPressure: @escaping @Sendable () -> Void
  ) throws(Unavailable) {
    try self.init(watching: try Self.firstWatch(of: sources), onPressure: onPressure)
  }

  /// Watches an open file.
  init(watching watch: consuming MemoryPressureWatch, onPressure: @escaping @Sendable () -> Void) throws(Unavailable) {
    watchedFile = watch.path
    do throws(ThreadRefusal) {
      let stopping = StopSignal(event: try WakeEvent())
      let loop = MemoryPressureLoop(watch: watch, stopping: stopping, onPressure: onPressure)
      self.stopping = stopping
      thread = Mutex(try WorkerThread(name: "memory pressure") { loop.run() })
    } catch {
      throw Unavailable(description: "memory pressure cannot be watched: \(error)")
    }
  }

  deinit { stop() }

  /// Ends the watching: no call begins after this one has returned, and none still runs, except that which itself stops the monitor.
  public func stop() {
    stopping.send()
    // Joined outside the lock, since the closure that is waited for may call this too.
    thread.withLock { $0.take() }?.join()
  }

  private static func firstWatch(of sources: MemoryPressureSources) throws(Unavailable) -> MemoryPressureWatch {
    var reasons: [String] = []
    for path in sources.stallFiles {
      do throws(MemoryPressureWatch.Refusal) { return try MemoryPressureWatch(stallFile: path) } catch {
        reasons.append("\(path) (\(error.reason))")
      }
    }
    for path in sources.eventFiles {
      do throws(MemoryPressureWatch.Refusal) { return try MemoryPressureWatch(eventFile: path) } catch {
        reasons.append("\(path) (\(error.reason))")
      }
    }
    let tried = reasons.isEmpty ? "no file was named" : "tried " + reasons.joined(separator: ", ")
    throw Unavailable(description: "memory pressure cannot be watched here: \(tried); limit the memory cache's cost instead")
  }
}

/// What the thread of a monitor runs. It outlives the monitor where the closure lets go of that.
private final class MemoryPressureLoop: Sendable {
  private let watch: Mutex<MemoryPressureWatch>
  private let stopping: StopSignal
  private let onPressure: @Sendable () -> Void

  init(watch: consuming MemoryPressureWatch, stopping: StopSignal, onPressure: @escaping @Sendable () -> Void) {
    self.watch = Mutex(watch)
    self.stopping = stopping
    self.onPressure = onPressure
  }

  func run() {
    var descriptors = watch.withLock { watch in
      [
        pollfd(fd: stopping.event.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: watch.descriptor.number, events: watch.awaited, revents: 0),
      ]
    }
    while true {
      _ = uninterrupted { poll(&descriptors, nfds_t(descriptors.count), -1) }
      if descriptors[0].revents != 0 { return }
      switch watch.withLock({ $0.finding(descriptors[1].revents) }) {
      case .pressure: onPressure()
      case .nothing: break
      case .gone: return
      }
    }
  }
}

/// Tells a thread that sleeps in `poll` to end.
private final class StopSignal: Sendable {
  let event: WakeEvent

  init(event: WakeEvent) { self.event = event }

  func send() { event.signal() }
}
