/// Asks again and again whether something has come to be: for what no event tells of, such as the end of a thread.
///
/// - Throws: ``WaitTimeout`` after `timeout`.
public func poll(_ what: String, timeout: Duration = .patience, _ condition: () throws -> Bool) async throws {
  let end = ContinuousClock.now.advanced(by: timeout)
  while try !condition() {
    guard ContinuousClock.now < end else { throw WaitTimeout(description: "waited \(timeout) in vain for \(what)") }
    await Task.yield()
  }
}
