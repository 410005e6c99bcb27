import RedisClient

extension QueueFollower {
  /// So many fields are asked for at a time.
  private static let manifestsAtOnce = 1000

  /// What the manifests are called that were told so far, by their index.
  public func manifests() throws(QueueError) -> [QueuedManifest] {
    var manifests: [QueuedManifest] = []
    while true {
      let indices = manifests.count..<manifests.count + Self.manifestsAtOnce
      let fields = indices.flatMap { [RedisArgument(QueuedManifest.nameField($0)), RedisArgument(QueuedManifest.fileField($0))] }
      let answer = try command(["HMGET", keys.job] + fields).array ?? []
      for place in stride(from: 0, to: answer.count - 1, by: 2) {
        guard let name = answer[place].text else { return manifests }
        manifests.append(QueuedManifest(name: name, file: answer[place + 1].text))
      }
      if answer.count < 2 * Self.manifestsAtOnce { return manifests }
    }
  }

  /// What there is to tell of the lists of a queue that is sealed.
  public func remarks() throws(QueueError) -> ListRemarks {
    try ListRemarks { fields throws(QueueError) in try command(["HMGET", keys.job] + fields).array ?? [] }
  }
}
