import Glibc
import ImageDownloading
import Synchronization
import Threads

/// The threads that decode whole images: as many as cores, off the transfer and store threads, which must not wait for pixels.
final class CodingThreads: Sendable {
  /// Work on one image; what it finds it posts to the store thread.
  typealias Work = @Sendable () -> Void

  private let queue = WorkQueue<Work>()
  private let threads: [WorkerThread]
  private let meter: PipelineMeter
  private let load = Load()

  /// How much they have to do.
  private final class Load: Sendable {
    let count = Atomic(0)
  }

  /// Starts so many; fewer where the system gives no more, and throws where it gives none. `meter` is told how much they have to do.
  init(meter: PipelineMeter, count: Int = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) throws(ThreadError) {
    var threads: [WorkerThread] = []
    for number in 0..<count {
      do throws(ThreadError) {
        threads.append(
          try WorkerThread(name: "coding-\(number)") { [queue] in
            while let work = queue.take() { work() }
          }
        )
      } catch  where !threads.isEmpty {
        break
      }
    }
    self.threads = threads
    self.meter = meter
    meter.setCodingThreads(threads.count)
  }

  /// Whether the calling thread is one of them.
  var haveCurrent: Bool { threads.contains { $0.isCurrent } }

  func run(_ work: @escaping Work) {
    meter.codingWasAdded()
    load.count.add(1, ordering: .relaxed)
    queue.add { [meter, load] in
      work()
      load.count.subtract(1, ordering: .relaxed)
      meter.codingEnded()
    }
  }

  /// Has a thread take part in `work`, which is done without it too; does nothing where they have anything else to do, or are one.
  func helpWhereIdle(_ work: @escaping Work) {
    guard threads.count > 1, load.count.compareExchange(expected: 0, desired: 1, ordering: .relaxed).exchanged else { return }
    queue.add { [load] in
      work()
      load.count.subtract(1, ordering: .relaxed)
    }
  }

  /// Lets the threads end once what is queued is finished.
  func close() { queue.close() }

  /// Waits until they have ended.
  func join() { threads.forEach { $0.join() } }
}
