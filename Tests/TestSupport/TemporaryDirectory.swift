import Foundation
import Glibc
import Synchronization

/// A temporary folder for a test, removed with its contents when the last reference is released, at the latest when the process
/// ends.
public final class TemporaryDirectory: Sendable {
  /// Existing folders, since statics are never released.
  private static let living = Mutex<Set<String>>([])
  private static let removesAtExit: Void = {
    atexit { for path in TemporaryDirectory.living.withLock({ $0 }) { TemporaryDirectory.remove(path) } }
  }()

  /// The absolute path, without a trailing slash.
  public let path: String

  /// Creates a new folder in `$TMPDIR`, else in `/tmp`.
  public init() {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/prewarm-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("mkdtemp in \(parent): \(String(cString: strerror(errno)))") }
    let path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    self.path = path
    Self.removesAtExit
    Self.living.withLock { _ = $0.insert(path) }
  }

  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes `bytes` to the file `name`, creates missing folders, and returns its path.
  @discardableResult
  public func write(_ bytes: some Sequence<UInt8>, to name: String) -> String {
    let path = file(name)
    makeFolders(of: path)
    guard let handle = fopen(path, "w") else { fatalError("\(path): \(String(cString: strerror(errno)))") }
    defer { fclose(handle) }
    let bytes = Array(bytes)
    guard fwrite(bytes, 1, bytes.count, handle) == bytes.count else { fatalError("\(path): incomplete write") }
    return path
  }

  /// Writes `text` to the file `name` and returns its path.
  @discardableResult
  public func write(_ text: String, to name: String) -> String { write(text.utf8, to: name) }

  /// The bytes of the file `name`; nil if it doesn't exist.
  public func read(_ name: String) -> [UInt8]? { readFile(file(name)) }

  /// The text of the file `name`; empty if it doesn't exist.
  public func text(_ name: String) -> String { String(decoding: read(name) ?? [], as: UTF8.self) }

  private func makeFolders(of path: String) {
    var parents: [Substring] = []
    for part in path.split(separator: "/").dropLast() {
      parents.append(part)
      mkdir("/" + parents.joined(separator: "/"), 0o755)
    }
  }

  private static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

  deinit {
    Self.remove(path)
    let path = path
    Self.living.withLock { _ = $0.remove(path) }
  }
}

/// The bytes of the file at `path`; nil if it can't be read.
public func readFile(_ path: String) -> [UInt8]? {
  guard let handle = fopen(path, "r") else { return nil }
  defer { fclose(handle) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 65_536)
  while true {
    let count = fread(&chunk, 1, chunk.count, handle)
    if count == 0 { return bytes }
    bytes += chunk[..<count]
  }
}
