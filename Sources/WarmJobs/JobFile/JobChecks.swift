internal import YAMLDocuments

extension JobReader {
  /// What no single key can tell: keys of one section that do not go together.
  func check(_ section: JobSection, at path: String) {
    switch path {
    case "":
      checkReports(section.entries("report"))
      if section.values["manifests"] != nil { checkStandardInput(section.entries("manifests")) }
    case "verify.width", "verify.height", "verify.bytes":
      if let maximum = section.unlessWord("max", section.integer), maximum < section.integer("min") {
        refuse("max", lessThan: "min", in: section)
      }
    case "request.backoff":
      if section.duration("maximum") < section.duration("initial") { refuse("maximum", lessThan: "initial", in: section) }
    default: break
    }
  }

  private func refuse(_ upper: String, lessThan lower: String, in section: JobSection) {
    guard let node = section.nodes[upper] ?? section.nodes[lower] else { return }
    mistakes.add("'\(upper)' is less than '\(lower)'", at: node)
  }

  private func checkReports(_ reports: [JobSection]) {
    var seen: [String: String] = [:]
    for report in reports {
      for format in Job.ReportTarget.Format.allCases where report.isGiven(format.rawValue) {
        guard let node = report.nodes[format.rawValue] else { continue }
        let path = report.path(format.rawValue)
        let target = path.written == "-" ? "-" : path.normalized
        if let other = seen.updateValue(format.rawValue, forKey: target) {
          let place = target == "-" ? "standard output" : "'\(path.written)'"
          mistakes.add("\(place) is already the target of the \(other) report", at: node)
        }
      }
    }
  }

  private func checkStandardInput(_ manifests: [JobSection]) {
    let nodes = manifests.filter { $0.isGiven("path") && $0.path("path").written == "-" }.compactMap { $0.nodes["path"] }
    for node in nodes.dropFirst() { mistakes.add("standard input is already the manifest of another entry", at: node) }
  }
}
