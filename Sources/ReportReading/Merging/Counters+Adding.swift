import ImagePrimitives
import Reporting

extension Totals {
  mutating func add(_ other: Totals) {
    hitMemory += other.hitMemory
    hitDisk += other.hitDisk
    downloaded += other.downloaded
    revalidated += other.revalidated
    checked += other.checked
    failed += other.failed
    blacklisted += other.blacklisted
    skipped += other.skipped
    cancelled += other.cancelled
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
    inGrace += other.inGrace
    countingByKind.merge(other.countingByKind, uniquingKeysWith: +)
  }
}
