#if Queue
import ArgumentParser
import Glibc
import ImagePrimitives
import QueuedJobs
import Reports
import WorkQueues

/// `prewarm queue`: looks at queues.
struct QueueCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "queue",
    abstract: "Look at the queues of a Redis server.",
    subcommands: [Status.self]
  )

  func run() throws {
    throw CommandError(.misused, "name what to do with the queue: status")
  }

  /// `prewarm queue status`.
  struct Status: ParsableCommand {
    /// Between two looks at a queue that is worked on, of which its speed is the difference.
    private static let interval = Duration.seconds(1)

    static let configuration = CommandConfiguration(
      commandName: "status",
      abstract: "Show the jobs in queues, how far they are, and who works on them.",
      discussion: """
        Shows every queue of the server, or the one of --name. URLs wait for a worker, are held by one, or are done. While workers are at \
        it, looks twice within a second to measure how many they finish. Changes nothing.

        Exits with 0 if there is a queue, with 1 if there is none or Redis cannot be asked.

        Example: prewarm queue status --queue redis://127.0.0.1:6379
        """
    )

    @Option(
      help: ArgumentHelp("The Redis server, as prewarm enqueue takes it.", valueName: "url")
    )
    var queue: String

    @Option(help: ArgumentHelp("Show only the queue of this name.", valueName: "name"))
    var name: String?

    @Flag(help: "Print JSON, an object for each queue.")
    var json = false

    func run() throws {
      let address = try QueueOptions.address(queue)
      let chosen = try name.map { try QueueOptions.queueName($0) }
      var isFirst = true
      do {
        for name in try chosen.map({ [$0] }) ?? QueueFollower.names(at: address) {
          guard let view = try look(QueueFollower(QueueLocation(address, name: name))) else { continue }
          try json ? printJSON(view.json) : printData((isFirst ? "" : "\n") + view.text)
          isFirst = false
        }
      } catch let error as QueueError {
        throw CommandError(.couldNotFinish, "\(error)")
      }
      if isFirst {
        let what = chosen.map { "queue '\($0)'" } ?? "queue"
        throw CommandError(.couldNotFinish, "there is no \(what) at \(address); fill one with prewarm enqueue")
      }
    }

    /// A queue as it is, with its speed if workers are at it.
    private func look(_ follower: QueueFollower) throws(QueueError) -> QueueView? {
      let start = TimeSource.system.monotonic()
      guard let first = try follower.status() else { return nil }
      let view = QueueView(status: first, location: first.queue.location)
      if first.progress.isDrained || first.workers.isEmpty { return view }
      usleep(UInt32(Self.interval.wholeNanoseconds / 1000))
      guard let second = try follower.status(), second.progress.isOf(first.queue) else { return view }
      let done = second.progress.finalEntries - min(second.progress.finalEntries, first.progress.finalEntries)
      let seconds = Double(TimeSource.system.monotonic().since(start).wholeNanoseconds) / 1e9
      return QueueView(status: second, location: view.location, rate: Double(done) / seconds)
    }

  }
}
#endif
