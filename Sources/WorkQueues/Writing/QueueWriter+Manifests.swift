import RedisClient

extension QueueWriter {
  /// So many manifests are told at a time.
  private static let manifestsAtOnce = 1000

  /// Writes down what manifests are called, the first of which has that index, to be done before their entries are added; a second
  /// time does no harm.
  public func add(_ manifests: [QueuedManifest], from first: Int) throws(QueueError) {
    for start in stride(from: 0, to: manifests.count, by: Self.manifestsAtOnce) {
      var arguments = [RedisArgument(filling)]
      for (place, manifest) in manifests.enumerated().dropFirst(start).prefix(Self.manifestsAtOnce) {
        manifestNames[first + place] = manifest.name
        arguments += [RedisArgument(QueuedManifest.nameField(first + place)), RedisArgument(manifest.name)]
        guard let file = manifest.file else { continue }
        arguments += [RedisArgument(QueuedManifest.fileField(first + place)), RedisArgument(file)]
      }
      try describe(arguments)
    }
  }

  private func describe(_ arguments: [RedisArgument]) throws(QueueError) {
    try link.finish()
    let keys = link.keys
    var answer = RedisReply.null
    try link.retrying { _, connection throws(RedisError) in
      answer = try connection.run(WriterScripts.describe, keys: [keys.job], arguments)
    }
    try link.check(answer)
  }

  /// What errors call the manifest of that index.
  func name(of manifest: UInt32) -> String { manifestNames[Int(manifest)] ?? "manifest \(UInt64(manifest) + 1)" }
}

extension WriterScripts {
  /// `KEYS`: job. `ARGV`: filling, then fields and values.
  static let describe = RedisScript(
    name: "describe",
    source: """
      if redis.call('HGET', KEYS[1], 'filling') ~= ARGV[1] then return 'REPLACED' end
      redis.call('HSET', KEYS[1], unpack(ARGV, 2))
      return 'WRITTEN'
      """
  )
}
