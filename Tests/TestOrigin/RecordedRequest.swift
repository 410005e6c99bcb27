/// A request as the origin read it.
public struct RecordedRequest: Sendable {
  /// Its number among all requests of the origin, in order of arrival, starting at 1.
  public let sequence: Int

  /// The method, such as `GET`.
  public let method: String

  /// The path and the query, as the client sent them.
  public let target: String

  /// The header fields in the order of receipt.
  public let headers: HeaderFields

  /// The body; empty for nearly all requests.
  public let body: [UInt8]

  /// The number of its connection, starting at 1 in the order of opening.
  public let connection: Int

  /// The port of its host, which distinguishes an origin's hosts.
  public let port: Int

  /// When its last byte was read.
  public let arrival: ContinuousClock.Instant

  /// The target without its query.
  public var path: String { String(target.prefix { $0 != "?" }) }
}
