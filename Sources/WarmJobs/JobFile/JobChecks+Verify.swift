internal import YAMLDocuments

// Keys that promise of an image what nobody looks at.
extension JobReader {
  /// Keys that need whole images, which `head` and `probe` do not bring, or headers, which `head` does not.
  func checkMethod(_ job: JobSection) {
    let request = job.section("request")
    let method = request.choice("method", Job.Request.Method.self)
    guard method != .get else { return }
    let reason = "method: \(method.rawValue) fetches no whole images"
    let choice = request.nodes["method"]
    let verify = job.section("verify")
    if verify.word("decode") == "full" { refuse("decode", since: reason, in: verify, chosenBy: choice) }
    if verify.boolean("strict") { refuse("strict", since: reason, in: verify, chosenBy: choice) }
    if method == .head { refuseHeaderRules(verify, since: "method: head fetches no header of an image", chosenBy: choice) }
    let cache = job.section("cache")
    if !cache.isWord("memory") { refuse("memory", since: reason, in: cache, chosenBy: choice) }
    if !job.isWord("transform") { refuse("transform", since: reason, in: job, chosenBy: choice) }
  }

  /// Keys that need the header of an image, which `decode: none` does not read, unless it is decoded all the same.
  func checkDepth(_ job: JobSection) {
    let verify = job.section("verify")
    guard verify.word("decode") == "none", !verify.boolean("strict"), job.isWord("transform") else { return }
    guard job.section("cache").isWord("memory") else { return }
    refuseHeaderRules(verify, since: "decode: none reads no header", chosenBy: verify.nodes["decode"])
  }

  private func refuseHeaderRules(_ verify: JobSection, since reason: String, chosenBy choice: YAMLNode?) {
    for side in ["width", "height"] {
      let bounds = verify.section(side)
      guard bounds.integer("min") > 1 || !bounds.isWord("max") else { continue }
      refuse(side, since: reason, in: verify, chosenBy: choice)
    }
    if verify.choice("animated", Job.Verify.Animated.self) != .allow {
      refuse("animated", since: reason, in: verify, chosenBy: choice)
    }
    // The default, written down, promises nothing.
    if verify.unlessWord("max-pixels", verify.integer) != 100_000_000 {
      refuse("max-pixels", since: reason, in: verify, chosenBy: choice)
    }
  }
}
