import ImagePrimitives

extension Totals {
  mutating func add(_ other: Totals) {
    for outcome in Outcome.allCases { add(outcome, other[outcome]) }
  }
}

extension Traffic {
  mutating func add(_ other: Traffic) {
    receivedBytes += other.receivedBytes
    cachedBytes += other.cachedBytes
    originalBytes += other.originalBytes
    storedBytes += other.storedBytes
    attempts += other.attempts
    retries += other.retries
    waitedNanoseconds &+= other.waitedNanoseconds
    transientFailures += other.transientFailures
    latency.merge(other.latency)
  }
}

extension FailureStandings {
  mutating func add(_ other: FailureStandings) {
    counting += other.counting
    known += other.known
    countingByKind.merge(other.countingByKind, uniquingKeysWith: +)
  }
}
