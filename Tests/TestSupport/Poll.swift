/// Checks a condition repeatedly, for changes without an event, such as the end of a thread.
///
/// - Throws: ``WaitTimeout`` after `timeout`.
public func poll(_ what: String, timeout: Duration = .patience, _ condition: () throws -> Bool) async throws {
  let end = ContinuousClock.now.advanced(by: timeout)
  while try !condition() {
    guard ContinuousClock.now < end else { throw WaitTimeout(description: "timed out after \(timeout) waiting for \(what)") }
    await Task.yield()
  }
}
