import Glibc
import ImageDownloading
import Threads

/// The threads that decode whole images: as many as cores, off the transfer and store threads, which must not wait for pixels.
final class CodingThreads: Sendable {
  /// Work on one image; what it finds it posts to the store thread.
  typealias Work = @Sendable () -> Void

  private let queue = WorkQueue<Work>()
  private let threads: [WorkerThread]
  private let meter: PipelineMeter

  /// Starts so many; fewer where the system gives no more, and throws where it gives none. `meter` is told how much they have to do.
  init(meter: PipelineMeter, count: Int = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) throws(ThreadRefusal) {
    var threads: [WorkerThread] = []
    for number in 0..<count {
      do throws(ThreadRefusal) {
        threads.append(
          try WorkerThread(name: "coding-\(number)") { [queue] in
            while let work = queue.take() {
              work()
              meter.codingEnded()
            }
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
    queue.add(work)
  }

  /// Lets the threads end once what is queued is finished.
  func close() { queue.close() }

  /// Waits until they have ended.
  func join() { threads.forEach { $0.join() } }
}
