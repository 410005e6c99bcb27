import RedisClient

extension QueueWriter {
  /// Writes down what the manifest of that index is called, to be done before its entries are added; a second time does no harm.
  public func add(_ manifest: QueuedManifest, index: Int) throws(QueueError) {
    manifestNames[index] = manifest.name
    try link.finish()
    var arguments = [RedisArgument(filling), RedisArgument(QueuedManifest.nameField(index)), RedisArgument(manifest.name)]
    if let file = manifest.file { arguments += [RedisArgument(QueuedManifest.fileField(index)), RedisArgument(file)] }
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
