import CLMDB
import Glibc

/// Writing an index anew without its free pages, which LMDB itself never gives back to the file system.
enum IndexCompaction {
  private static let draftName = "index.mdb.compacted"

  /// Writes a compacted copy beside the index, synced.
  static func writeCopy(of environment: OpaquePointer, in folder: CacheFolder) throws(CacheError) {
    try folder.remove(draftName)
    guard let draft = try folder.open(draftName, O_RDWR | O_CREAT | O_EXCL) else { throw .deleted(path: folder.path) }
    let code = mdb_env_copyfd2(environment, draft.number, UInt32(MDB_CP_COMPACT))
    guard code == MDB_SUCCESS else {
      try folder.remove(draftName)
      throw indexError(code, path: folder.path)
    }
    guard fsync(draft.number) == 0 else { throw folder.writeError(errno) }
  }

  /// Puts the copy in the index's place; the environment must be closed. The lock file goes too: it counts transactions that
  /// the copy never had.
  static func replaceIndex(in folder: CacheFolder) throws(CacheError) {
    try folder.move(draftName, to: CacheFolder.indexName)
    try folder.remove(CacheFolder.indexLockName)
    try folder.synchronize(".")
  }
}
