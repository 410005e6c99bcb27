internal import Reports

/// Reads a YAML tree into a job by the table of keys, and collects all errors.
///
/// A key with an error keeps its default, so that one error doesn't hide another.
struct JobReader {
  let environment: [String: String]
  /// The folder of relative paths in the job file; those in options are relative to the current folder.
  let folder: String
  let errors: JobFileErrorList
  /// Whether its lists are those of a command line, whose options apply to all of them, to some without an effect.
  let isOfCommandLine: Bool
  private(set) var job = Job()
  /// The nodes of the values given, by path; items of lists have numbers, as in `manifests[0].path`.
  private(set) var given: [String: YAMLNode] = [:]

  mutating func read(_ root: YAMLNode) {
    section(root, at: "", "")
    checkAll()
  }

  /// Reads the keys of a section; `location` is its path with numbers of items.
  private mutating func section(_ node: YAMLNode, at path: String, _ location: String, named title: String? = nil) {
    let keys = JobKeys.bySection[path] ?? []
    guard let mapping = node.mapping else {
      let example = keys.first { $0.defaultText != nil }.map { ", such as '\($0.name): \($0.defaultText!)'" } ?? ""
      let name = path.isEmpty ? "a job" : "'\(title ?? path.keyName)'"
      errors.add("\(name) requires keys below it\(example), not \(node.kindPhrase)", at: node)
      return
    }
    for (first, again) in mapping.duplicateKeys {
      let line = first.location.source === again.location.source ? "; first used on line \(first.location.range.start.line)" : ""
      errors.add("duplicate key '\(again.scalar?.text ?? "")'\(line)", at: again)
    }
    var seen: Set<String> = []
    for pair in mapping.pairs {
      guard let name = pair.key.scalar?.text else {
        errors.add("a key must be text, not \(pair.key.kindPhrase)", at: pair.key)
        continue
      }
      guard let key = keys.first(where: { $0.name == name }) else {
        errors.add(Self.unknownKey(name, section: path, keys: keys), at: pair.key)
        continue
      }
      guard seen.insert(name).inserted else { continue }
      let itsLocation = location.isEmpty ? name : "\(location).\(name)"
      if value(of: key, pair, itsLocation) { given[itsLocation] = pair.value }
    }
    for key in keys where key.isRequired && !seen.contains(key.name) {
      let example = key.example.map { "; add \(key.name): \($0)" } ?? ""
      errors.add("missing key '\(key.name)'\(example)", atStartOf: node)
    }
  }

  /// Reads the value of a key; false if it is invalid.
  private mutating func value(of key: JobKey, _ pair: YAMLMapping.Pair, _ location: String) -> Bool {
    let node = pair.value
    if node.scalar?.isNull == true {
      errors.add("'\(key.name)' has no value; use \(key.form.expectation)", at: node, or: pair.key)
      return false
    }
    switch key.kind {
    case .entries(let names, let minimum): return entries(node, of: key, location, exactlyOneOf: names, minimum: minimum)
    case .named(let names): return named(node, of: key, location, names)
    case .valueOrSection where node.mapping != nil, .section:
      key.open(&job)
      section(node, at: key.path, location)
      return true
    default:
      let reader = JobValueReader(name: key.name, form: key.form, environment: environment, folder: folder, errors: errors)
      return key.set(&job, node, reader)
    }
  }

  private mutating func named(_ node: YAMLNode, of key: JobKey, _ location: String, _ form: JobForm) -> Bool {
    guard let mapping = node.mapping else {
      errors.add("'\(key.name)' requires \(key.form.expectation), not \(node.kindPhrase)", at: node)
      return false
    }
    var names: [String: YAMLNode] = [:]
    for pair in mapping.pairs {
      let written = pair.key.scalar.map { errors.shown($0.text, of: pair.key) }
      guard let text = pair.key.scalar?.text, let name = key.add(&job, text) else {
        errors.add("\(written ?? pair.key.kindPhrase) isn't \(form.expectation)", at: pair.key)
        continue
      }
      if let first = names.updateValue(pair.key, forKey: name) {
        errors.add("duplicate \(written ?? ""); first used on line \(first.location.range.start.line)", at: pair.key)
      }
      section(pair.value, at: key.path + "[]", "\(location)[\(names.count - 1)]", named: name)
    }
    return true
  }

  private mutating func entries(
    _ node: YAMLNode,
    of key: JobKey,
    _ location: String,
    exactlyOneOf names: [String],
    minimum: Int
  ) -> Bool {
    guard let items = node.sequence else {
      let advice = bareEntry(node, of: key).map { "; write \(key.name): [{\($0)}]" } ?? ""
      errors.add("'\(key.name)' requires \(key.form.expectation), not \(node.kindPhrase)\(advice)", at: node)
      return false
    }
    if items.count < minimum { errors.add("'\(key.name)' requires at least one entry", at: node) }
    key.clear(&job)
    for (index, item) in items.enumerated() {
      if let written = bareEntry(item, of: key) {
        errors.add("an entry of '\(key.name)' requires a key before its value; write {\(written)}", at: item)
        continue
      }
      let pairs = item.mapping?.pairs ?? []
      let chosen = pairs.map(\.key).filter { names.contains($0.scalar?.text ?? "") }
      if item.mapping != nil, chosen.isEmpty {
        if let (place, error) = formatError(pairs, of: key) {
          errors.add(error, at: place)
          continue
        }
        // The error of an unknown key names the known ones.
        let known = Set((JobKeys.bySection[key.path + "[]"] ?? []).map(\.name))
        if pairs.allSatisfy({ known.contains($0.key.scalar?.text ?? "") }) {
          errors.add("an entry of '\(key.name)' requires \(JobForm.alternatives(names))", at: item)
        }
      }
      if let first = chosen.first?.scalar?.text, let other = chosen.first(where: { $0.scalar?.text != first }) {
        errors.add("an entry can't have both '\(first)' and '\(other.scalar?.text ?? "")'; make two entries", at: other)
      }
      key.open(&job)
      section(item, at: key.path + "[]", "\(location)[\(index)]")
    }
    return true
  }

  /// The correct form of a text in the place of an entry, such as `path: urls.txt`; nil for anything but text.
  private func bareEntry(_ node: YAMLNode, of key: JobKey) -> String? {
    guard let scalar = node.scalar, !scalar.isNull else { return nil }
    let text = scalar.text
    if key.name == "notify" { return "slack: {url-env: SLACK_URL}" }
    // An example replaces a text that may be a secret or is long.
    let isShown = !text.contains("@") && !text.contains("\n") && text.count <= 60
    guard key.name == "report" else {
      guard isShown else { return text.contains("://") ? "urls: [https://img.example.com/a.jpg]" : "path: urls.txt" }
      let value = Self.flowText(text)
      guard text.contains("://") else { return "path: \(value)" }
      let isSitemap = [".xml", ".xml.gz"].contains(where: text.lowercased().hasSuffix)
      return isSitemap ? "url: \(value)" : "urls: [\(value)]"
    }
    if text == "-" { return "text: \"-\"" }
    if let format = ReportFormat(rawValue: text) { return "\(format.rawValue): \"-\"" }
    guard isShown, let format = ReportFormat(path: text) else { return "json: report.json" }
    return "\(format.rawValue): \(Self.flowText(text))"
  }

  /// The text as a scalar within brackets, in quotes where YAML requires them.
  private static func flowText(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { $0.isLetter || $0.isDigit || "/._-+~=?&%:".utf8.contains($0) }
    let isSafe = isPlain && !text.hasPrefix("-") && !text.hasPrefix("?") && !text.hasPrefix(":") && !text.hasSuffix(":")
    return isSafe ? text : "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
  }

  /// The error of a report whose only key isn't a format; nil for anything else.
  private func formatError(_ pairs: [YAMLMapping.Pair], of key: JobKey) -> (YAMLNode, String)? {
    guard key.name == "report", pairs.count == 1, let pair = pairs.first, let word = pair.key.scalar?.text else { return nil }
    let path =
      pair.value.scalar.flatMap { $0.isNull || $0.text.contains("@") || $0.text.count > 60 ? nil : $0.text } ?? "report.json"
    return (pair.key, ReportFormat.error(word, path: path) { "\($0.rawValue): \(Self.flowText($1))" })
  }

  /// `unknown key 'per-hst'; did you mean 'per-host'?`, also for keys of other sections.
  private static func unknownKey(_ name: String, section: String, keys: [JobKey]) -> String {
    if let nearest = Suggestions.nearest(to: name, among: keys.map(\.name)) {
      return "unknown key '\(name)'; did you mean '\(nearest)'?"
    }
    let elsewhere = JobKeys.all.filter { $0.name == name && !$0.path.contains("[]") }
    if elsewhere.count == 1 { return "unknown key '\(name)'; did you mean '\(elsewhere[0].path)'?" }
    return "unknown key '\(name)'; known keys: \(keys.map(\.name).joined(separator: ", "))"
  }
}

extension YAMLNode {
  var kindPhrase: String {
    switch content {
    case .scalar(let scalar): scalar.isNull ? "nothing" : "a single value"
    case .sequence: "a list"
    case .mapping: "a mapping"
    }
  }
}

extension String {
  /// The key of a dotted path: `backoff` of `request.backoff`, `report` of `report[]`.
  var keyName: String {
    let name = split(separator: ".").last.map(String.init) ?? self
    return name.hasSuffix("[]") ? String(name.dropLast(2)) : name
  }
}
