/// Why an operation of the disk cache failed, described as one sentence: what failed, why, and what to do.
public enum CacheError: Error, Sendable, Equatable {
  case cannotMake(path: String, reason: String)
  case cannotOpen(path: String, reason: String)
  case cannotRead(path: String, reason: String)
  case cannotWrite(path: String, reason: String)
  case missing(path: String)
  case readOnly(path: String)
  /// The cache's format is older or newer; `found` is the content of its VERSION, nil if it has none.
  case wrongVersion(path: String, found: String?, supported: Int)
  /// The folder is on a network file system with that name.
  case networkFileSystem(path: String, name: String)
  /// A process with the same process ID in another process namespace has the cache open.
  case foreignProcessNamespace(path: String)
  /// The index is shorter than its header says.
  case cut(path: String, expectedBytes: Int, actualBytes: Int)
  /// The folder was deleted, or its index replaced, while this process had it open.
  case deleted(path: String)
  case diskFull(path: String)
  /// The index has reached the size of its memory map.
  case mapFull(path: String)
  case tooManyOpenFiles(path: String)
  case readersFull(path: String)
  /// Other processes have the cache open; `processes` are the IDs of those that are visible.
  case inUse(path: String, processes: [Int])
  /// The index or a file of the folder isn't as prewarm wrote it.
  case damaged(path: String, reason: String)
  /// A write to the disk failed, so this run stores nothing more.
  case storingStopped(path: String, reason: String)
  case cannotExport(path: String, reason: String)
  /// The path of an export has a symbolic link, which exports don't follow.
  case linkInExport(path: String)
  case other(path: String, reason: String)
  /// The task of an asynchronous call was cancelled before it started.
  case cancelled
}

extension CacheError {
  /// Whether the disk or the map has no room for the pages of a transaction.
  package var isLackOfRoom: Bool {
    switch self {
    case .diskFull, .mapFull: true
    default: false
    }
  }
}

extension CacheError: CustomStringConvertible {
  /// The sentence; paths in it aren't escaped yet.
  public var description: String {
    switch self {
    case .cannotMake(let path, let reason):
      "cannot create the cache folder \(path): \(reason); choose another directory, or check its path and permissions"
    case .cannotOpen(let path, let reason):
      "cannot open \(path): \(reason); check that it exists and is readable"
    case .cannotRead(let path, let reason):
      "cannot read \(path): \(reason); check the disk and the file's permissions"
    case .cannotWrite(let path, let reason):
      "cannot write to the cache at \(path): \(reason); fix its permissions, or use another directory"
    case .missing(let path):
      "there is no cache at \(path); check the directory and namespace, or run a job that fills it"
    case .readOnly(let path):
      "the cache at \(path) is open read-only; open it for writing to change it"
    case .wrongVersion(let path, let found, let supported):
      "the cache at \(path) has \(found.map { "format version \($0)" } ?? "no format version"), but this program reads version "
        + "\(supported); use the program that created it, or delete the folder"
    case .networkFileSystem(let path, let name):
      "the cache at \(path) is on a network file system (\(name)), which isn't safe for its index; choose a local directory"
    case .foreignProcessNamespace(let path):
      "the cache at \(path) is open in another container or process namespace under the same process ID; use "
        + "separate directories, or share the process namespace"
    case .cut(let path, let expected, let actual):
      "\(path) is truncated: it has \(actual) bytes instead of \(expected); delete the cache's folder, or restore it from a complete copy"
    case .deleted(let path):
      "the cache at \(path) was deleted or replaced while in use; start again to recreate it"
    case .diskFull(let path):
      "no space left for the cache at \(path); free disk space or limit its size"
    case .mapFull(let path):
      "the index of the cache at \(path) has filled its memory map; trim the cache or raise the limit on address space"
    case .tooManyOpenFiles(let path):
      "too many open files for the cache at \(path); raise the limit (ulimit -n) or load fewer images at once"
    case .readersFull(let path):
      "the cache at \(path) has too many readers; wait until some of them have finished"
    case .inUse(let path, let processes):
      "the cache at \(path) is in use by \(Self.name(processes)); wait until it is free"
    case .damaged(let path, let reason):
      "the cache at \(path) is damaged: \(reason); delete the folder to start over"
    case .storingStopped(let path, let reason):
      "stopped storing in the cache at \(path) because a write failed: \(reason); check the disk"
    case .cannotExport(let path, let reason):
      "cannot export images to \(path): \(reason); free disk space or fix its permissions, then export again"
    case .linkInExport(let path):
      "cannot export through \(path): it is a symbolic link, and exports don't follow links in their folder; remove it, or export elsewhere"
    case .cancelled: "the call was cancelled before it read or wrote the cache"
    case .other(let path, let reason):
      "the index of the cache at \(path) failed: \(reason); try again, and delete the folder if it keeps failing"
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
