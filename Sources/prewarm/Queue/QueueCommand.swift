#if Queue
import ArgumentParser
import Glibc
import ImagePrimitives
import QueuedJobs
import Reports
import WorkQueues

/// `prewarm queue`: shows queues.
struct QueueCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "queue",
    abstract: "Show queues on a Redis server",
    subcommands: [Status.self]
  )

  func run() throws {
    throw CommandError(.misused, "prewarm queue needs a command: status")
  }

  struct Status: ParsableCommand {
    /// The time between two looks at an active queue, which measure its speed.
    private static let interval = Duration.seconds(1)

    static let configuration = CommandConfiguration(
      commandName: "status",
      abstract: "Show the jobs in queues, their progress and their workers",
      discussion: """
        Shows every queue of the server, or the one of --name. If workers are active, it looks twice within a second to measure their \
        speed. Exits with 0 if there is a queue; with 1 if there is none or Redis can't be reached.

        EXAMPLES:
          prewarm queue status --queue redis://127.0.0.1:6379
          prewarm queue status --queue redis://10.0.0.1 --name shop
        """
    )

    @Option(help: ArgumentHelp("Use this Redis server, such as redis://10.0.0.1", valueName: "url"))
    var queue: String

    @Option(help: ArgumentHelp("Show only the queue of this name", valueName: "name"))
    var name: String?

    @Flag(help: "Print a JSON object for each queue")
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
        throw CommandError(.couldNotFinish, "no \(what) at \(address); fill one with prewarm enqueue")
      }
    }

    /// The state of a queue, with its speed if workers are active.
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
