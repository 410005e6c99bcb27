import ImageCaching
import ImagePrimitives
import Reports

extension Job {
  /// 32 hexadecimal digits that follow from what decides which entries the job has and how they are judged: from the keys that are
  /// described so in ``JobKeys``.
  ///
  /// They are the same on every machine: of an absolute path the file's name counts, of a relative one all of it. What is in the
  /// lists is not read. Values of header fields, users and passwords are left out.
  var digest: String {
    var text: [UInt8] = []
    // With its length, so that different values cannot come to the same bytes.
    func add(_ key: JobKey, of job: Job) {
      let value = key.text(job)
      text += "\(key.path) \(value.utf8.count)\n\(value)\n".utf8
    }
    let keys = JobKeys.all.filter(\.isInDigest)
    for manifest in manifests {
      var job = self
      job.manifests = [manifest]
      for key in keys where key.path.hasPrefix("manifests[]") { add(key, of: job) }
    }
    for key in keys where !key.path.hasPrefix("manifests[]") { add(key, of: self) }
    return text.withUnsafeBytes { checksum(of: $0) }.hexadecimal
  }
}
