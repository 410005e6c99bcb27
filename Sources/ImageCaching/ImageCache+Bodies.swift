import ImagePrimitives

extension ImageCache {
  /// Reads the body of a record that a look-up found, and checks it against the record.
  ///
  /// nil: the record is gone, or another one by now. Throws where the disk fails.
  public func body(
    of key: CacheKey,
    identity: UnsafeRawBufferPointer,
    as head: EntryHead
  ) throws(CacheError) -> CachedBody? {
    guard head.isBlob else {
      let found = try read { (reader) throws(CacheError) -> (isSame: Bool, bytes: [UInt8]?) in
        guard try reader.has(head, key, identity) else { return (false, nil) }
        return (true, try reader.inlineBody(head))
      }
      return found.isSame ? Self.check(found.bytes, head) : nil
    }
    let name = BlobFolder.fileName(key, revision: head.revision, folder: head.blobFolder)
    let size = Int(clamping: head.bodySize)
    let body = Self.check(try BlobFolder(environment.folder).read(name, size: min(size, .max - 1)), head)
    if case .bytes = body { return body }
    // A file that is gone is no damage if its record is gone too.
    let isSame = try read { (reader) throws(CacheError) in try reader.has(head, key, identity) }
    return isSame ? body : nil
  }

  private static func check(_ bytes: [UInt8]?, _ head: EntryHead) -> CachedBody {
    guard let bytes else { return .damaged(.missing) }
    guard UInt64(bytes.count) == head.bodySize else { return .damaged(.wrongSize) }
    guard bytes.withUnsafeBytes(checksum(of:)) == head.checksum else { return .damaged(.wrongChecksum) }
    return .bytes(bytes)
  }
}

extension CacheReader {
  /// Whether the record of a key is still the one that was read.
  fileprivate func has(_ head: EntryHead, _ key: CacheKey, _ identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    guard let entry = try entry(key), entry.identity.hasSameBytes(as: identity) else { return false }
    return entry.head.revision == head.revision
  }
}
