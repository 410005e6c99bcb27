/// The rows of all manifests, one after another, without waiting.
final class ForwardPass {
  enum Step {
    case row(Row, file: Int)
    case wouldBlock
    case end
  }

  let manifests: [Manifest]
  let files: [ManifestFile]
  private(set) var progress = ReadingProgress()
  /// What each regular file was when it was read.
  private(set) var versions: [FileVersion?]
  /// Whether rows may belong to more than one priority class; all files must have been prepared.
  private(set) var hasSeveralClasses: Bool
  private var index = 0
  private var current: OpenManifest?
  /// Inputs that cannot be opened twice, until their turn comes.
  private var waiting: [Int: OpenManifest] = [:]
  private var goodEntriesLeft: [Int?]

  /// Opens every manifest, so that one that cannot be read is known before anything is fetched.
  ///
  /// Regular files are closed again, since a pattern may match more files than may be open.
  init(_ manifests: [Manifest], standardInput: Int32) throws(ManifestError) {
    self.manifests = manifests
    files = try ManifestFile.all(of: manifests)
    versions = Array(repeating: nil, count: files.count)
    goodEntriesLeft = manifests.map(\.limit)
    hasSeveralClasses = Set(manifests.map(\.priority)).count > 1
    for (index, file) in files.enumerated() {
      let open = try openManifest(file, standardInput: standardInput)
      if let input = open.input, !input.isRegular || input.descriptor == standardInput {
        waiting[index] = open
        progress.addStream()
      } else {
        _ = try prepare(open)
        progress.addFile(bytes: open.input?.size ?? 0)
      }
    }
  }

  /// What to wait for after a step would have blocked.
  private(set) var waitDescriptor: Int32?

  /// Reads the headers of what could not be read at once; false where it would have to wait.
  func prepareStreams() throws(ManifestError) -> Bool {
    for (_, open) in waiting.sorted(by: { $0.key < $1.key }) where try !prepare(open) {
      waitDescriptor = open.input?.descriptor
      return false
    }
    return true
  }

  /// The next row, valid until the next step; throws where a manifest breaks off, and for good.
  func next() throws(ManifestError) -> Step {
    while index < files.count {
      guard goodEntriesLeft[files[index].manifest] != 0 else {
        finishFile()
        continue
      }
      let open = try openCurrent()
      guard try open.rows.readHeader() else { return wait(for: open) }
      switch open.rows.next() {
      case .row(let row):
        progress.countEntry()
        return .row(row, file: index)
      case .wouldBlock: return wait(for: open)
      case .end:
        try open.checkEnd()
        finishFile()
      }
    }
    return .end
  }

  /// Whether the manifest of that file takes only so many good entries.
  func hasLimit(file: Int) -> Bool { goodEntriesLeft[files[file].manifest] != nil }

  /// Says that the last row is a good entry, which counts towards its manifest's limit.
  func countGoodEntry(file: Int) {
    let manifest = files[file].manifest
    if let left = goodEntriesLeft[manifest] { goodEntriesLeft[manifest] = left - 1 }
  }

  /// Where the last row's URL lies in its file; nil where it must be kept otherwise.
  func offset(of row: Row) -> UInt64? {
    guard case .path? = files[index].place, current?.isPlainFile == true else { return nil }
    return row.offset
  }

  /// How many entries there are likely to be; see ``ManifestReader/expectedEntries``.
  var expectedEntries: Int? { progress.expectedEntries(consumedInCurrent: current?.consumedBytes ?? 0) }

  private func wait(for open: OpenManifest) -> Step {
    waitDescriptor = open.input?.descriptor
    return .wouldBlock
  }

  private func prepare(_ open: OpenManifest) throws(ManifestError) -> Bool {
    guard try open.rows.readHeader() else { return false }
    if open.rows.mayNamePriority { hasSeveralClasses = true }
    return true
  }

  private func openCurrent() throws(ManifestError) -> OpenManifest {
    if let current { return current }
    let open: OpenManifest
    if let held = waiting.removeValue(forKey: index) {
      open = held
    } else {
      open = try openManifest(files[index], standardInput: nil)
    }
    versions[index] = open.input?.version
    current = open
    return open
  }

  private func openManifest(_ file: ManifestFile, standardInput: Int32?) throws(ManifestError) -> OpenManifest {
    do throws(InputFailure) {
      let input: InputDescriptor? =
        switch file.place {
        case .path(let path): try InputDescriptor(path: path)
        case .standardInput: try InputDescriptor(descriptor: standardInput!, isOwned: false)
        case nil: nil
        }
      return OpenManifest(file, of: manifests[file.manifest], input: input)
    } catch {
      throw error.error(in: file.name)
    }
  }

  private func finishFile() {
    progress.finishFile(at: index)
    waiting[index] = nil
    current = nil
    index += 1
  }
}
