import Synchronization

/// The entries of a cache that a run has used, which a trim removes last: one bit per stored body.
package final class UsedEntries: Sendable {
  /// The bits of each page, by the page's number.
  private let pages = Mutex<[UInt64: [UInt64]]>([:])
  /// One page has the bits of 32,768 revisions in 4 KiB.
  private static let revisionBits: UInt64 = 15

  package init() {}

  /// Adds entries by their ``EntryHead/revision``.
  package func insert(_ revisions: [UInt64]) {
    if revisions.isEmpty { return }
    pages.withLock { pages in
      for revision in revisions {
        let bit = Int(revision & ((1 << Self.revisionBits) - 1))
        pages[revision >> Self.revisionBits, default: Array(repeating: 0, count: 1 << Self.revisionBits / 64)][bit / 64] |=
          1 << (bit % 64)
      }
    }
  }

  func contains(_ head: EntryHead) -> Bool {
    let bit = Int(head.revision & ((1 << Self.revisionBits) - 1))
    return pages.withLock { $0[head.revision >> Self.revisionBits].map { $0[bit / 64] >> (bit % 64) & 1 == 1 } ?? false }
  }
}
