import Glibc
import Synchronization

/// The environments that this process has open: one a folder, whatever path led to it, counted by its users.
enum EnvironmentRegistry {
  private struct Registered {
    let environment: Environment
    var users: Int
  }

  // Opening and closing happen under this lock, since two environments over one file must never be there at once.
  private static let registered = Mutex<[FolderIdentity: Registered]>([:])

  /// The environment of a folder, opened if it is not yet; to be given back by ``close(_:)``.
  static func open(_ folder: CacheFolder, access: ImageCache.Access) throws(CacheError) -> Environment {
    try registered.withLock { (list) throws(CacheError) -> Environment in
      if access == .readWrite { try prepare(folder) }
      if let known = list[folder.id] {
        if access == .readWrite && known.environment.isReadOnly {
          throw .cannotWrite(path: folder.path, reason: "it is already open in this process, for reading only")
        }
        list[folder.id]?.users += 1
        return known.environment
      }
      let environment = try openAnew(folder, access: access)
      list[folder.id] = Registered(environment: environment, users: 1)
      return environment
    }
  }

  /// Gives an environment back; the last user's closes it.
  static func close(_ environment: Environment) {
    registered.withLock { list in
      guard var known = list.removeValue(forKey: environment.folder.id) else { return }
      known.users -= 1
      if known.users > 0 { list[environment.folder.id] = known } else { environment.close() }
    }
  }

  private static func prepare(_ folder: CacheFolder) throws(CacheError) {
    try folder.checkWritable()
    try FolderMarks.prepare(folder)
    try BlobFolder(folder).prepare()
  }

  private static func openAnew(_ folder: CacheFolder, access: ImageCache.Access) throws(CacheError) -> Environment {
    try FolderMarks.checkVersion(of: folder)
    do throws(CacheError) {
      return try openLocked(folder, access: access)
    } catch {
      guard access == .readOnly, case .cannotOpen = error else { throw error }
      return try openUnlocked(folder)
    }
  }

  private static func openLocked(_ folder: CacheFolder, access: ImageCache.Access) throws(CacheError) -> Environment {
    let useLock = try UseLock.take(folder, access: access)
    if access == .readWrite { try BlobFolder(folder).sweepTemporary() }
    let index = try OpenedIndex(folder, access: access)
    let environment = Environment(index, folder: folder, useLock: useLock)
    // Whoever made the files, this process or one that died since: what is committed to them lasts only if their names do.
    if access == .readWrite { try folder.synchronize(".") }
    return environment
  }

  /// Opens an index whose lock file this user may not write: then nobody else may have the folder open, who could write it.
  private static func openUnlocked(_ folder: CacheFolder) throws(CacheError) -> Environment {
    let useLock = try UseLock.take(folder, access: .readOnly, alone: true)
    return Environment(try OpenedIndex(withoutLock: folder), folder: folder, useLock: useLock)
  }
}
