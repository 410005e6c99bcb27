import Foundation
import TestSupport

/// A disk with the guarantees of the manual (fsync(2)): synced data stays, and any part of the rest may be lost.
///
/// A file's bytes are durable after its own sync, its name after the sync of its folder. Before that, a write may
/// survive completely, in part or not at all, independently of other writes. Names that weren't synced survive up to
/// any point, in order, as on file systems with a journal.
struct DiskModel {
  fileprivate struct File {
    var synced: [UInt8] = []
    var pending: [Change] = []
  }

  fileprivate struct Change {
    /// nil: truncated or extended to `offset`.
    let bytes: ArraySlice<UInt8>?
    let offset: Int
    /// Written with O_DSYNC.
    var isSynced = false
  }

  private enum Node: Hashable {
    case folder
    case file(Int)
  }

  private struct NameChange {
    let path: String
    /// nil: the name is removed.
    let node: Node?
  }

  private let root: String
  private var files: [File] = []
  private var names: [String: Node] = [:]
  private var syncedNames: [String: Node] = [:]
  private var pendingNames: [NameChange] = []

  /// Creates a disk with a durable folder and its contents; empty if there is no folder.
  init(holding root: String) {
    self.root = root
    for name in FileManager.default.enumerator(atPath: root)?.compactMap({ $0 as? String }) ?? [] {
      let path = "\(root)/\(name)"
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
      if isFolder.boolValue {
        names[path] = .folder
      } else {
        names[path] = .file(files.count)
        files.append(File(synced: readFile(path) ?? []))
      }
    }
    syncedNames = names
  }

  /// Applies a command's step.
  mutating func apply(_ step: RecordedStep) {
    switch step.kind {
    case .create: change(step.path, to: addFile())
    case .folder: change(step.path, to: .folder)
    case .unlink: change(step.path, to: nil)
    case .link: if let node = names[step.path] { change(step.second, to: node) }
    case .rename:
      guard let node = names[step.path] else { return }
      change(step.second, to: node)
      change(step.path, to: nil)
    case .write, .syncedWrite:
      write(Change(bytes: step.bytes, offset: step.offset, isSynced: step.kind == .syncedWrite), to: step.path)
    case .truncate: write(Change(bytes: nil, offset: step.offset), to: step.path)
    case .sync: sync(step.path)
    }
  }

  private mutating func addFile() -> Node {
    files.append(File())
    return .file(files.count - 1)
  }

  private mutating func change(_ path: String, to node: Node?) {
    names[path] = node
    pendingNames.append(NameChange(path: path, node: node))
  }

  private mutating func write(_ change: Change, to path: String) {
    guard case .file(let number)? = names[path] else { return }
    files[number].pending.append(change)
  }

  private mutating func sync(_ path: String) {
    if case .file(let number)? = names[path] {
      for change in files[number].pending { change.apply(to: &files[number].synced) }
      files[number].pending = []
    } else {
      for change in pendingNames where Self.parent(change.path) == path { syncedNames[change.path] = change.node }
      pendingNames.removeAll { Self.parent($0.path) == path }
    }
  }

  /// Recreates the folder below `target` in a state that a power loss now could leave.
  ///
  /// - Parameter random: selects surviving parts that weren't synced; nil: none survives.
  func lose(into target: String, _ random: inout SeededRandom?) {
    var kept = syncedNames
    if random != nil {
      for change in pendingNames.prefix(Int.random(in: 0...pendingNames.count, using: &random!)) {
        kept[change.path] = change.node
      }
    }
    try? FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
    for (path, node) in kept.sorted(by: { $0.key < $1.key }) where hasFolders(path, in: kept) {
      let place = target + path.dropFirst(root.count)
      switch node {
      case .folder: try? FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      case .file(let number):
        _ = FileManager.default.createFile(atPath: place, contents: Data(content(of: files[number], &random)))
      }
    }
  }

  /// A file in a lost folder is lost, too.
  private func hasFolders(_ path: String, in kept: [String: Node]) -> Bool {
    var folder = Self.parent(path)
    while folder.count > root.count {
      guard kept[folder] == .folder else { return false }
      folder = Self.parent(folder)
    }
    return folder == root
  }

  private func content(of file: File, _ random: inout SeededRandom?) -> [UInt8] {
    var bytes = file.synced
    for change in file.pending {
      if change.isSynced {
        change.apply(to: &bytes)
      } else if random != nil {
        change.torn(&random!)?.apply(to: &bytes)
      }
    }
    return bytes
  }

  private static func parent(_ path: String) -> String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }
}

extension DiskModel.Change {
  fileprivate func apply(to file: inout [UInt8]) {
    guard let bytes else {
      file = Array(file.prefix(offset)) + [UInt8](repeating: 0, count: max(0, offset - file.count))
      return
    }
    let end = offset + bytes.count
    if file.count < end { file += [UInt8](repeating: 0, count: end - file.count) }
    file.replaceSubrange(offset..<end, with: bytes)
  }

  /// The part of a write that survives: all, nothing, or its first sectors.
  fileprivate func torn(_ random: inout SeededRandom) -> Self? {
    switch Int.random(in: 0..<3, using: &random) {
    case 0: return nil
    case 1: return self
    default:
      guard let bytes, bytes.count > 512 else { return nil }
      return Self(bytes: bytes.prefix(Int.random(in: 0..<bytes.count / 512, using: &random) * 512), offset: offset)
    }
  }
}

/// One operation of a command on its files, as recorded by `recorder.c`.
struct RecordedStep: Sendable {
  enum Kind: Character, Sendable {
    case write = "w", syncedWrite = "W", sync = "s", truncate = "t", rename = "r", link = "l", unlink = "u", folder = "d",
      create = "c"
  }

  let kind: Kind
  let path: String
  /// The new name, of a rename and a link.
  let second: String
  /// The offset of the bytes, or the new length of the file.
  let offset: Int
  let bytes: ArraySlice<UInt8>

  /// All steps of a record, in order.
  static func all(in record: [UInt8]) -> [RecordedStep] {
    var steps: [RecordedStep] = []
    var position = 0
    func number(_ width: Int) -> Int {
      defer { position += width }
      return record[position..<position + width].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    while position < record.count {
      guard let kind = Kind(rawValue: Character(UnicodeScalar(record[position]))) else {
        fatalError("the record is broken at byte \(position)")
      }
      position += 1
      let lengths = [number(4), number(4), number(4)]
      let offset = number(8)
      let parts = lengths.map { length in
        defer { position += length }
        return record[position..<position + length]
      }
      let (path, second) = (String(decoding: parts[0], as: UTF8.self), String(decoding: parts[1], as: UTF8.self))
      steps.append(RecordedStep(kind: kind, path: path, second: second, offset: offset, bytes: parts[2]))
    }
    return steps
  }
}
