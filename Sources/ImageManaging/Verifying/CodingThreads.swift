import Platform
import ImageDownloading
import Synchronization
import Base

/// The threads that decode whole images: one per core, since the transfer and store threads must not wait for pixels.
final class CodingThreads: Sendable {
  /// Work on one image; it posts its result to the store thread.
  typealias Work = @Sendable () -> Void

  private let queue = WorkQueue<Work>()
  private let threads: [WorkerThread]
  private let meter: PipelineMeter
  /// The number of queued and running tasks.
  private let load = Atomic(0)

  /// Starts `count` threads, or fewer if the system provides no more; throws if it provides none. Reports their work to `meter`.
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

  var haveCurrent: Bool { threads.contains { $0.isCurrent } }

  func run(_ work: @escaping Work) {
    meter.codingWasAdded()
    load.add(1, ordering: .relaxed)
    queue.add { [self] in
      work()
      load.subtract(1, ordering: .relaxed)
      meter.codingEnded()
    }
  }

  /// Makes an idle thread take part in `work`, which is done without it too; does nothing if they are busy or there is only one.
  func helpWhereIdle(_ work: @escaping Work) {
    guard threads.count > 1, load.compareExchange(expected: 0, desired: 1, ordering: .relaxed).exchanged else { return }
    queue.add { [self] in
      work()
      load.subtract(1, ordering: .relaxed)
    }
  }
  func close() { queue.close() }

  // If the store thread couldn't start, the threads are still open.
  deinit { close() }

  func join() { threads.forEach { $0.join() } }
}
