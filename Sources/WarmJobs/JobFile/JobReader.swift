internal import YAMLDocuments

/// Reads a tree of nodes by the description of the keys, and collects every mistake on the way.
///
/// A key with a mistake has its default in what is returned, so that one mistake does not hide another.
struct JobReader {
  let environment: [String: String]
  /// The folder that relative paths in the job file start at; those in options start at the current one.
  let folder: String
  let mistakes: JobMistakeList

  /// Reads the keys of the section at `path`; a nil node has none of them.
  func section(_ node: YAMLNode?, at path: String) -> JobSection {
    let keys = JobKeys.bySection[path] ?? []
    var section = JobSection()
    let mapping = node?.mapping
    if let node, mapping == nil {
      let example = keys.first { $0.defaultText != nil }.map { ", such as '\($0.name): \($0.defaultText!)'" } ?? ""
      let name = path.isEmpty ? "a job" : "'\(JobPathText.lastName(of: path))'"
      mistakes.add("\(name) needs keys below it\(example), not \(node.kindPhrase)", at: node)
    }
    for (first, again) in mapping?.duplicateKeys ?? [] {
      let place = first.location.source === again.location.source ? "; first on line \(first.location.range.start.line)" : ""
      mistakes.add("'\(again.scalar?.text ?? "")' is given twice\(place)", at: again)
    }
    var seen: Set<String> = []
    for pair in mapping?.pairs ?? [] {
      guard let name = pair.key.scalar?.text else {
        mistakes.add("a key is text, not \(pair.key.kindPhrase)", at: pair.key)
        continue
      }
      guard let key = keys.first(where: { $0.name == name }) else {
        mistakes.add(Self.unknownKey(name, section: path, keys: keys), at: pair.key)
        continue
      }
      guard seen.insert(name).inserted, let value = value(of: key, pair) else { continue }
      section.set(name, to: value, at: pair.value)
    }
    for key in keys where key.works && section.values[key.name] == nil {
      if key.isRequired, !seen.contains(key.name), let node, mapping != nil {
        let example = key.example.map { "; write \(key.name): \($0)" } ?? ""
        mistakes.add("'\(key.name)' is missing\(example)", atStartOf: node)
      }
      if let value = defaultValue(of: key) { section.set(key.name, to: value, at: nil) }
    }
    check(section, at: path)
    return section
  }

  /// The value of a key by its pair; nil where it is a mistake, or a default that needs no reading.
  private func value(of key: JobKey, _ pair: YAMLMapping.Pair) -> JobValue? {
    if !key.works {
      if let defaultNode = key.defaultNode, pair.value.hasSameContent(as: defaultNode) { return nil }
      mistakes.add("'\(key.name)' is not supported yet", at: pair.key)
      return nil
    }
    if pair.value.scalar?.isNull == true {
      mistakes.add("'\(key.name)' has no value; it needs \(key.type.expectation)", at: pair.value, or: pair.key)
      return nil
    }
    switch key.type {
    case .section: return .section(section(pair.value, at: key.path))
    case .entries(let names, let minimum): return entries(pair.value, of: key, exactlyOneOf: names, minimum: minimum)
    case .wordOrSection where pair.value.mapping != nil, .textOrSection where pair.value.mapping != nil:
      return .section(section(pair.value, at: key.path))
    default:
      let reader = JobValueReader(
        name: key.name,
        whole: key.type,
        environment: environment,
        folder: folder,
        mistakes: mistakes
      )
      return reader.value(pair.value, key.type)
    }
  }

  private func defaultValue(of key: JobKey) -> JobValue? {
    if case .section = key.type { return .section(section(nil, at: key.path)) }
    guard let node = key.defaultNode else { return nil }
    return value(of: key, YAMLMapping.Pair(key: node, value: node))
  }

  private func entries(
    _ node: YAMLNode,
    of key: JobKey,
    exactlyOneOf names: [String],
    minimum: Int
  ) -> JobValue? {
    guard let items = node.sequence else {
      mistakes.add("'\(key.name)' needs \(key.type.expectation), not \(node.kindPhrase)", at: node)
      return nil
    }
    if items.count < minimum { mistakes.add("'\(key.name)' needs at least one entry", at: node) }
    return .entries(
      items.map { item in
        let chosen = (item.mapping?.pairs ?? []).map(\.key).filter { names.contains($0.scalar?.text ?? "") }
        if item.mapping != nil, chosen.isEmpty {
          mistakes.add("an entry of '\(key.name)' needs \(JobValueType.alternatives(names))", at: item)
        }
        if let first = chosen.first?.scalar?.text, let other = chosen.first(where: { $0.scalar?.text != first }) {
          mistakes.add("'\(other.scalar?.text ?? "")' stands beside '\(first)'; an entry has one of them", at: other)
        }
        return section(item, at: key.path + "[]")
      }
    )
  }

  /// `unknown key 'per-hst'; did you mean 'per-host'?`, also for a key that belongs to another section.
  private static func unknownKey(_ name: String, section: String, keys: [JobKey]) -> String {
    if let nearest = Suggestions.nearest(to: name, among: keys.map(\.name)) {
      return "unknown key '\(name)'; did you mean '\(nearest)'?"
    }
    let elsewhere = JobKeys.all.filter { $0.name == name && !$0.path.contains("[]") }
    if elsewhere.count == 1 { return "unknown key '\(name)'; did you mean '\(elsewhere[0].path)'?" }
    return "unknown key '\(name)'; known here: \(keys.map(\.name).joined(separator: ", "))"
  }
}

extension YAMLNode {
  /// What it is, for a sentence on what was expected instead.
  var kindPhrase: String {
    switch content {
    case .scalar(let scalar): scalar.isNull ? "nothing" : "a single value"
    case .sequence: "a list"
    case .mapping: "a mapping"
    }
  }
}

/// Parts of dotted paths.
enum JobPathText {
  /// `prefetch` of `prefetch`, `backoff` of `request.backoff`, `report` of `report[]`.
  static func lastName(of path: String) -> String {
    let name = path.split(separator: ".").last.map(String.init) ?? path
    return name.hasSuffix("[]") ? String(name.dropLast(2)) : name
  }
}
