#if Queue
import ArgumentParser
import RedisClient
import Reports
import WorkQueues

/// The queue that a command uses.
struct QueueOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Use this Redis server, such as redis://10.0.0.1", discussion: QueueOptions.forms, valueName: "url"))
  var queue: String

  private static let forms = """
    redis://[user@]host[:port][/database] or redis+unix:///path[?db=number]. Set the password in REDISCLI_AUTH.
    """

  /// The address of the server; an invalid URL ends the command with status 3.
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
    throw CommandError(.misused, "--name \(name) isn't the name of a queue; use 1 to 64 letters, digits, '-', '_' and '.'")
  }

  @Option(help: ArgumentHelp("Use the queue of this name", valueName: "name"))
  var name = "default"

  /// The server and the name of the queue; invalid ones end the command with status 3.
  func location() throws -> QueueLocation {
    let name = try Self.queueName(name)
    return QueueLocation(try Self.address(queue), name: name)
  }
}
#endif
