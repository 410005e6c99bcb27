#if Queue
import ArgumentParser
import RedisClient
import Reports
import WorkQueues

/// Which queue a command is about.
struct QueueOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The Redis server: redis://[user@]host[:port][/database], or redis+unix:///path[?db=number]. Its password comes from the variable REDISCLI_AUTH, as \
      redis-cli has it, so that no list of processes shows it; redis://user:password@host works, too.
      """,
      valueName: "url"
    )
  )
  var queue: String

  /// Where the server is; an invalid URL ends the command with status 3.
  static func address(_ queue: String) throws -> RedisAddress {
    do throws(RedisAddressError) {
      return try RedisAddress(queue, environment: JobLoading.environment())
    } catch {
      throw CommandError(.misused, "--queue: \(error)")
    }
  }

  /// The name of a queue; an invalid one ends the command with status 3.
  static func queueName(_ name: String) throws -> QueueName {
    if let name = QueueName(name) { return name }
    throw CommandError(.misused, "--name \(name): a queue's name has 1 to 64 letters, digits, '-', '_' and '.'")
  }

  @Option(help: ArgumentHelp("The queue's name there: letters, digits, '-', '_' and '.'.", valueName: "name"))
  var name = "default"

  /// Where the queue is; an invalid one ends the command with status 3.
  func location() throws -> QueueLocation {
    let name = try Self.queueName(name)
    return QueueLocation(try Self.address(queue), name: name)
  }
}
#endif
