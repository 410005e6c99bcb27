internal import YAMLDocuments

// Keys that decide where requests go.
extension JobReader {
  /// How often variants and edges may have an entry fetched.
  private static let maximumCombinations = 1000

  /// Keys of the request of which one rules out what another promises.
  func checkRequest(_ request: JobSection) {
    if request.choice("addresses", Job.Request.Addresses.self) == .publicOnly, !isDirect(request) {
      refuse("addresses", since: "a proxy connects by itself, to whatever address", in: request, chosenBy: request.nodes["proxy"])
    }
    if !request.mapping("edges").isEmpty, !request.list("connect-to").isEmpty {
      refuse("connect-to", since: "entries are fetched from the edges", in: request, chosenBy: request.nodes["edges"])
    }
    let combinations = max(1, request.mapping("edges").count) * max(1, request.mapping("variants").count)
    if combinations > Self.maximumCombinations, let node = request.nodes["variants"] ?? request.nodes["edges"] {
      mistakes.add(
        "each entry would be fetched \(combinations) times; variants and edges may make \(Self.maximumCombinations)",
        at: node
      )
    }
    if request.boolean("cookies"), let node = request.nodes["headers"],
      request.headers("headers").contains(where: { $0.name.lowercased() == "cookie" })
    {
      mistakes.add("a 'Cookie' field beside cookies: true would be sent as a second one (RFC 6265, section 5.4)", at: node)
    }
    let tls = request.section("tls")
    if tls.isWord("client-certificate"), let node = tls.nodes["client-key"], !tls.isWord("client-key") {
      mistakes.add("'client-key' has no effect without a 'client-certificate'", at: node)
    }
    if !tls.boolean("verify"), let node = tls.nodes["ca-file"], !tls.isWord("ca-file") {
      mistakes.add("'ca-file' has no effect with verify: false", at: node)
    }
  }

  private func isDirect(_ request: JobSection) -> Bool {
    if case .word("none") = request.values["proxy"] { true } else { false }
  }

  /// Keys of a manifest that only sitemaps have a use for.
  func checkManifest(_ manifest: JobSection) {
    let format = manifest.choice("format", Job.Manifest.Format.self)
    let reason: String
    if manifest.isGiven("urls") {
      reason = "entries written in the job are no sitemap"
    } else if format != .auto, format != .sitemap {
      reason = "format: \(format.rawValue) is no sitemap"
    } else {
      return
    }
    let choice = manifest.nodes["format"]
    if !manifest.isWord("newer-than") { refuse("newer-than", since: reason, in: manifest, chosenBy: choice) }
    if manifest.boolean("sitemap-priority") { refuse("sitemap-priority", since: reason, in: manifest, chosenBy: choice) }
  }

  /// What caches on the way say only of what is fetched.
  func checkRemoteCache(_ job: JobSection) {
    let (cache, verify) = (job.section("cache"), job.section("verify"))
    guard cache.choice("mode", Job.Cache.Mode.self) == .only else { return }
    guard verify.choice("remote-cache", Job.Verify.RemoteCache.self) != .ignore else { return }
    refuse("remote-cache", since: "nothing is fetched with mode: only", in: verify, chosenBy: cache.nodes["mode"])
  }
}
