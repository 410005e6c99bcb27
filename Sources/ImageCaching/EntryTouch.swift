/// A record that was asked for, and whose time of access is out of date: 24 bytes, since millions may follow each other.
package struct EntryTouch: Sendable {
  let key: CacheKey
  /// Tells whether the record is still the one that was read.
  let revision: UInt64

  /// What is to be noted of a record that was read.
  package init(_ key: CacheKey, _ head: EntryHead) {
    self.key = key
    revision = head.revision
  }
}
