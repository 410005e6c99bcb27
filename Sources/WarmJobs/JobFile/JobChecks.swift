internal import Reports
internal import YAMLDocuments

extension JobReader {
  /// What no single key can tell: keys of one section that do not go together.
  func check(_ section: JobSection, at path: String) {
    switch path {
    case "":
      checkOutputs(of: section)
      if section.values["manifests"] != nil { checkStandardInput(section.entries("manifests")) }
      checkMethod(section)
      checkDepth(section)
      checkTransform(section)
      checkRemoteCache(section)
    case "cache": checkCache(section)
    case "request": checkRequest(section)
    case "manifests[]": checkManifest(section)
    case "verify.width", "verify.height", "verify.bytes":
      if let maximum = section.unlessWord("max", section.integer), maximum < section.integer("min") {
        refuse("max", lessThan: "min", in: section)
      }
    case "request.backoff":
      if section.duration("maximum") < section.duration("initial") { refuse("maximum", lessThan: "initial", in: section) }
    case "transform.resize":
      if section.isWord("width"), section.isWord("height"), let node = section.nodes["fit"] {
        mistakes.add("'fit' has no effect without a 'width' or a 'height'", at: node)
      }
    default: break
    }
  }

  private func refuse(_ upper: String, lessThan lower: String, in section: JobSection) {
    guard let node = section.nodes[upper] ?? section.nodes[lower] else { return }
    mistakes.add("'\(upper)' is less than '\(lower)'", at: node)
  }

  /// Keys of the cache that promise what another one rules out.
  private func checkCache(_ cache: JobSection) {
    switch cache.choice("mode", Job.Cache.Mode.self) {
    case .bypass:
      let reason = "the cache is not read with mode: bypass"
      if cache.choice("freshness", Job.Cache.Freshness.self) == .http { refuse("freshness", since: reason, in: cache) }
      if cache.duration("min-fresh") > .zero { refuse("min-fresh", since: reason, in: cache) }
      if !cache.isWord("memory") { refuse("memory", since: reason, in: cache) }
      if !cache.list("read-only").isEmpty { refuse("read-only", since: reason, in: cache) }
      if cache.boolean("verify-hits") { refuse("verify-hits", since: reason, in: cache) }
    case .refresh:
      if cache.duration("min-fresh") > .zero {
        refuse("min-fresh", since: "everything is asked for with mode: refresh", in: cache)
      }
    case .use, .only: checkMinFresh(cache)
    }
  }

  /// A server may give more time than `max-age`; by age alone nothing would ever be fresh for long enough.
  private func checkMinFresh(_ cache: JobSection) {
    guard cache.choice("freshness", Job.Cache.Freshness.self) == .age, let node = cache.nodes["min-fresh"],
      let maxAge = cache.unlessWord("max-age", cache.duration)
    else { return }
    let minFresh = cache.duration("min-fresh")
    if minFresh > .zero, minFresh >= maxAge {
      mistakes.add("'min-fresh' is not less than 'max-age': nothing would ever be fresh for that long", at: node)
    }
  }

  /// What nothing is stored of need not be transformed.
  private func checkTransform(_ job: JobSection) {
    let cache = job.section("cache")
    guard !job.isWord("transform"), cache.choice("mode", Job.Cache.Mode.self) == .bypass else { return }
    refuse("transform", since: "nothing is stored with mode: bypass", in: job, chosenBy: cache.nodes["mode"])
  }

  /// Refuses a key that has no effect in this mode. A mode that the command line sets over the job file silences the file's keys.
  private func refuse(_ name: String, since reason: String, in cache: JobSection) {
    refuse(name, since: reason, in: cache, chosenBy: cache.nodes["mode"])
  }

  /// The same for what a key of another section, `choice`, rules out.
  func refuse(_ name: String, since reason: String, in section: JobSection, chosenBy choice: YAMLNode?) {
    guard let node = section.nodes[name] else { return }
    if let choice, mistakes.isOption(choice), !mistakes.isOption(node) { return }
    mistakes.add("'\(name)' has no effect: \(reason)", at: node)
  }

  /// Refuses a file that is written twice, or that the next run could not read.
  private func checkOutputs(of job: JobSection) {
    var writers: [String: String] = [:]
    for report in job.entries("report") {
      guard let (format, path) = report.report, let node = report.nodes[format.rawValue] else { continue }
      let target = path.written == "-" ? "-" : path.normalized
      if let other = writers.updateValue("the \(format.rawValue) report", forKey: target) {
        let place = target == "-" ? "standard output" : "'\(path.written)'"
        mistakes.add("\(place) is already the target of \(other)", at: node)
      }
    }
  }

  private func checkStandardInput(_ manifests: [JobSection]) {
    let nodes = manifests.filter { $0.isGiven("path") && $0.path("path").written == "-" }.compactMap { $0.nodes["path"] }
    for node in nodes.dropFirst() { mistakes.add("standard input is already the manifest of another entry", at: node) }
  }
}
