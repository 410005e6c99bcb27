/// Why the disk cache could not do what it was asked, as one sentence that says what, where, and what to do.
public enum CacheError: Error, Sendable, Equatable {
  /// A folder of the cache cannot be made.
  case cannotMake(path: String, reason: String)
  /// A file or folder of the cache cannot be opened.
  case cannotOpen(path: String, reason: String)
  /// A file of the cache cannot be read.
  case cannotRead(path: String, reason: String)
  /// The folder, or a file in it, cannot be written.
  case cannotWrite(path: String, reason: String)
  /// There is no cache to read.
  case missing(path: String)
  /// The cache was opened for reading only.
  case readOnly(path: String)
  /// The cache's format is an older or a newer one; `found` is what its VERSION says, nil where there is none.
  case wrongVersion(path: String, found: String?, supported: Int)
  /// The folder lies on a network file system of that name.
  case networkFileSystem(path: String, name: String)
  /// A process of another process namespace, with our own process id, has the cache open.
  case foreignProcessNamespace(path: String)
  /// The index is shorter than it says itself.
  case cut(path: String, expectedBytes: Int, actualBytes: Int)
  /// The folder was deleted, or its index replaced, while it was open here.
  case deleted(path: String)
  /// No space is left.
  case diskFull(path: String)
  /// The index has grown to the size of its map.
  case mapFull(path: String)
  /// This process has as many files open as it may.
  case tooManyOpenFiles(path: String)
  /// Every slot for readers is taken.
  case readersFull(path: String)
  /// Other processes have the cache open; `processes` are their ids as far as they can be seen.
  case inUse(path: String, processes: [Int])
  /// The index or a file of the folder is not as this program left it.
  case damaged(path: String, reason: String)
  /// The disk failed to keep what was written, so nothing more is stored in this run.
  case storingStopped(path: String, reason: String)
  /// Images cannot be written out to that folder.
  case cannotExport(path: String, reason: String)
  /// A symbolic link lies where an export would write, and is not followed.
  case linkInExport(path: String)
  /// Any other failure of the index.
  case other(path: String, reason: String)
}

extension CacheError: CustomStringConvertible {
  /// The sentence; paths in it are not escaped yet.
  public var description: String {
    switch self {
    case .cannotMake(let path, let reason):
      "the cache folder \(path) cannot be made: \(reason); choose another directory or fix its permissions"
    case .cannotOpen(let path, let reason):
      "\(path) cannot be opened: \(reason); check that it exists and may be read"
    case .cannotRead(let path, let reason):
      "\(path) cannot be read: \(reason); check the disk and the file's permissions"
    case .cannotWrite(let path, let reason):
      "the cache at \(path) cannot be written: \(reason); fix its permissions, or only read from it"
    case .missing(let path):
      "there is no cache at \(path); check directory and namespace, or run a job that fills it"
    case .readOnly(let path):
      "the cache at \(path) is open for reading only; open it for writing to change it"
    case .wrongVersion(let path, let found, let supported):
      "the cache at \(path) has \(found.map { "format version \($0)" } ?? "no format version"), and this program reads version "
        + "\(supported); use the program that made it, or delete the folder"
    case .networkFileSystem(let path, let name):
      "the cache at \(path) is on a network file system (\(name)), where its index is not safe; choose a local directory"
    case .foreignProcessNamespace(let path):
      "the cache at \(path) is open in another container or process namespace under our own process id; give each its own "
        + "directory, or let them share a process namespace"
    case .cut(let path, let expected, let actual):
      "\(path) is cut off: it has \(actual) bytes and should have \(expected); delete the folder, or restore it from a whole copy"
    case .deleted(let path):
      "the cache at \(path) was deleted or replaced while it was in use; start again to make it anew"
    case .diskFull(let path):
      "no space is left for the cache at \(path); free space, or limit its size"
    case .mapFull(let path):
      "the index of the cache at \(path) has no room left in its memory map; trim the cache, or raise the limit on address space"
    case .tooManyOpenFiles(let path):
      "too many files are open for the cache at \(path); raise the limit (ulimit -n), or load fewer images at once"
    case .readersFull(let path):
      "too many readers have the cache at \(path) open; wait until some of them are done"
    case .inUse(let path, let processes):
      "the cache at \(path) is in use by \(Self.name(processes)); wait until it is free"
    case .damaged(let path, let reason):
      "the cache at \(path) is damaged: \(reason); delete the folder to begin anew"
    case .storingStopped(let path, let reason):
      "nothing more is stored in the cache at \(path), since the disk did not keep what was written: \(reason); check the disk"
    case .cannotExport(let path, let reason):
      "images cannot be exported to \(path): \(reason); make room or fix its permissions, and export again"
    case .linkInExport(let path):
      "cannot export through \(path): it is a symbolic link, and exports follow none below their folder; remove it or export to another folder"
    case .other(let path, let reason):
      "the index of the cache at \(path) failed: \(reason); try again, and delete the folder if it fails again"
    }
  }

  private static func name(_ processes: [Int]) -> String {
    switch processes.count {
    case 0: "another process"
    case 1: "process \(processes[0])"
    default: "processes " + processes.map(String.init).joined(separator: ", ")
    }
  }
}
