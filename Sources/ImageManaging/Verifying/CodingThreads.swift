import Glibc
import Threads

/// The threads that decode whole images: as many as cores, off the transfer and store threads, which must not wait for pixels.
final class CodingThreads: Sendable {
  /// Work on one image; what it finds it posts to the store thread.
  typealias Work = @Sendable () -> Void

  private let queue = WorkQueue<Work>()
  private let threads: [WorkerThread]

  init(count: Int = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
    threads = (0..<count).map { [queue] number in
      WorkerThread(name: "coding-\(number)") {
        while let work = queue.take() { work() }
      }
    }
  }

  /// Whether the calling thread is one of them.
  var haveCurrent: Bool { threads.contains { $0.isCurrent } }

  func run(_ work: @escaping Work) { queue.add(work) }

  /// Lets the threads end once what is queued is finished.
  func close() { queue.close() }

  /// Waits until they have ended.
  func join() { threads.forEach { $0.join() } }
}
