import CLMDB

/// Delays the reuse of index pages that commits have freed, by a read transaction that keeps an older state.
///
/// A commit of new images changes about two pages of tables for each of them, and LMDB writes each changed page elsewhere: into gaps that
/// the commits just before left, page by page. Reused later, gaps have grown together, and a disk writes a run of pages nearly as fast as
/// a single one.
struct PageReuse {
  /// Images that may be stored until pages are reused; their pages take about 32 MB at most.
  private static let imageLimit: UInt64 = 4096
  /// The same for commits, since not all of them store images.
  private static let commitLimit = 16

  private var reader: OpaquePointer?
  private var images: UInt64 = 0
  private var commits = 0

  /// Begins a delay, unless there is one. The environment's gate must be held.
  mutating func delay(in environment: IndexEnvironment) {
    // Without a free slot for readers, pages are reused at once.
    if reader == nil { mdb_txn_begin(environment.handle, nil, UInt32(MDB_RDONLY), &reader) }
  }

  /// Counts a commit and its images. The pages of removed bodies are needed at once, so they end the delay, too.
  mutating func count(_ stored: UInt64, freesBodies: Bool) {
    images += stored
    commits += 1
    if freesBodies || images >= Self.imageLimit || commits >= Self.commitLimit { end() }
  }

  /// Lets all pages be reused.
  mutating func end() {
    if let reader { mdb_txn_abort(reader) }
    (reader, images, commits) = (nil, 0, 0)
  }
}
