extension ImageCache {
  /// Writes every image to a file of `directory`, which is made where it is not there, and calls `onEntry` with what became of
  /// each.
  ///
  /// Images are read a page at a time, each checked against its sum, beside whoever writes to the cache meanwhile: what is stored
  /// later may be left out, what is replaced meanwhile is exported as it is then. Those that have expired are exported too.
  ///
  /// Existing files are replaced. A file is there whole or not at all, but is not synced to the disk; it gets the mode that the
  /// umask says, and as its time of modification that at which the image was stored. Of several images of one URL, as with
  /// variants, the one stored last stays. URLs with credentials are left out: the cache has masked them, and no app would find
  /// the file. So are transformed images (``EntryRecord/isTransformed``), which are not what the URL names.
  ///
  /// Throws `cannotExport` where the folder cannot be written or is full; what was exported before stays. Throws where the cache
  /// cannot be read.
  @discardableResult
  public func export(
    to directory: String,
    layout: ExportLayout,
    onEntry: (ExportEvent) -> Void = { _ in }
  ) throws(CacheError) -> ExportResult {
    var folder = try ExportFolder(path: directory)
    var result = ExportResult()
    try forEachEntry { (record) throws(CacheError) in
      guard let event = try export(record, to: &folder, layout) else { return }
      result.count(event)
      onEntry(event)
    }
    return result
  }

  /// Exports one entry; nil where it is gone by now.
  private func export(
    _ record: EntryRecord,
    to folder: inout ExportFolder,
    _ layout: ExportLayout
  ) throws(CacheError) -> ExportEvent? {
    if record.url.withUnsafeBytes(hasCredentials) { return .skipped(url: record.url, reason: .hasCredentials) }
    if record.isTransformed { return .skipped(url: record.url, reason: .transformed) }
    guard let name = record.url.withUnsafeBytes({ Self.name(ofURL: $0, layout) }) else {
      throw .cannotExport(path: folder.path, reason: "libcrypto does not compute MD5 here, as in FIPS mode")
    }
    guard let (record, body) = try currentBody(of: record) else { return nil }
    switch body {
    case .damaged(let damage): return .skipped(url: record.url, reason: .damaged(damage))
    case .bytes(let bytes):
      let storedAt = record.head.storedAt
      if folder.hasNewer(name.folders, name.file, than: storedAt) { return .skipped(url: record.url, reason: .superseded) }
      try folder.write(bytes, folders: name.folders, file: name.file, storedAt: storedAt)
      return .exported(url: record.url, file: (name.folders + [name.file]).joined(separator: "/"), bytes: bytes.count)
    }
  }

  /// The name of a URL's file; nil where MD5 is not to be had.
  private static func name(ofURL url: UnsafeRawBufferPointer, _ layout: ExportLayout) -> (folders: [String], file: String)? {
    switch layout {
    case .sdwebimage(withExtension: false): return AppFileName.digits(of: url).map { ([], $0) }
    case .sdwebimage(withExtension: true): return AppFileName.nameWithExtension(forURL: url).map { ([], $0) }
    case .urlPath:
      guard let digits = AppFileName.digits(of: url) else { return nil }
      let name = URLPathName(url: url, digits: digits)
      return (name.folders, name.file)
    }
  }
}
