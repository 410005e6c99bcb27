/// A key that the command line sets; it overrides the job file.
package struct JobOverride: Sendable {
  /// The dotted path of the key, such as `prefetch.order`; numbers are items of lists, counted from 0
  /// (`manifests.0.limit`). Without a number, a key of manifests is that of all (`manifests.limit`).
  package var path: String
  /// The value as YAML, such as `lifo` or `[{json: report.json}]`.
  package var value: String
  /// The location in errors: the option with its key, such as `--set prefetch.order` or `--order`.
  package var origin: String
  /// The value as typed, for errors; nil if errors don't show it.
  private var typed: String?
  /// Whether the value is appended to the list at `path`, after the items of the job file or the default.
  package var appends: Bool
  /// Whether the job file overrides it: then it is a default of the command. False by default.
  package var yields = false

  /// Whether it resets the key to its default and ignores the job file at `path`.
  private(set) var removes = false

  package init(path: String, value: String, origin: String, appends: Bool = false) {
    (self.path, self.value, self.origin, self.appends) = (path, value, origin, appends)
    typed = appends ? nil : value
  }

  /// Creates an override with a text, whatever it would mean in YAML.
  package init(path: String, text: String, origin: String) {
    self.init(path: path, value: Self.quoted(text), origin: origin)
    typed = text
  }

  package init(flag: String, path: String, value: String) {
    self.init(path: path, value: value, origin: flag)
    typed = nil
  }

  /// Creates an override that resets the key at `path` to its default.
  package init(defaultOf path: String) {
    self.init(path: path, value: "", origin: path)
    removes = true
  }

  /// Creates an override with a header `Name: value`; nil without a colon or a name.
  package init?(header: String, origin: String) {
    guard let colon = header.firstIndex(of: ":"), colon != header.startIndex else { return nil }
    let (name, value) = (String(header[..<colon]), header[header.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
    // These two headers have their own keys.
    let key = ["accept": "request.accept", "user-agent": "request.user-agent"][name.lowercased()]
    self.init(path: key ?? "request.headers.\(name)", text: String(value), origin: "\(origin) \(name)")
    typed = nil
  }

  /// Whether it sets a key of a list, or a part of it, whose name fulfils a condition.
  func isListKey(_ condition: (String) -> Bool) -> Bool {
    guard parts.count > 1, parts[0] == "manifests" else { return false }
    return (isOfEachList ? parts[1] : parts.dropFirst(2).first).map(condition) ?? false
  }

  /// Whether it sets a key of all manifests, as `manifests.limit` does.
  var isOfEachList: Bool {
    path.hasPrefix("manifests.") && parts.count > 1 && Quantities.count(parts[1]) == nil
  }

  /// Whether it sets a header, whose name is case-insensitive (RFC 9110, section 5.1).
  var isHeader: Bool { path.hasPrefix(Self.headers) }
  private static let headers = "request.headers."

  /// The parts of the path; the name of a header, which may have dots, is one part.
  var parts: [String] {
    if isHeader { return ["request", "headers", String(path.dropFirst(Self.headers.count))] }
    return path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }

  package init?(setting: String) {
    guard let equals = setting.firstIndex(of: "="), equals != setting.startIndex else { return nil }
    let path = String(setting[..<equals])
    self.init(path: path, value: String(setting[setting.index(after: equals)...]), origin: "--set \(path)")
  }

  /// The YAML of exactly this text: in double quotes and without variables.
  package static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "$": result += "$$"
      case "\u{0}"..<" ", "\u{7F}"..."\u{A0}", "\u{2028}", "\u{2029}", "\u{FEFF}":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// The option as typed: `--set prefetch.order=lifo`, `--order lifo`; values that may be secrets are masked.
  package var label: String {
    guard let typed else { return origin }
    let isSecret =
      ["request", "request.auth"].contains(path) || typed.contains("@")
      || ["request.headers", "request.variants", "request.proxy", "request.auth.password-env", "hosts", "notify"].contains {
        path.hasPrefix($0)
      }
      || path.hasPrefix("manifests") && (path.contains(".sign") || typed.contains("sign"))
    let isOptionAlone = origin.hasPrefix("-") && !origin.contains(" ")
    return "\(origin)\(isOptionAlone ? " " : "=")\(isSecret ? "***" : typed)"
  }
}

extension JobOverride {
  /// Environment variables that set defaults of keys; PREWARM_CACHE_DIR is part of the default of `cache.directory`.
  private static let variables = [
    ("PREWARM_CONCURRENCY", "prefetch.concurrency"), ("PREWARM_TIMEOUT", "request.timeout"),
    ("PREWARM_USER_AGENT", "request.user-agent"), ("PREWARM_PROXY", "request.proxy"),
  ]

  /// The overrides of the environment, which the job file overrides; empty variables are ignored.
  static func defaults(in environment: [String: String]) -> [JobOverride] {
    variables.compactMap { name, path in
      guard let value = environment[name], !value.isEmpty else { return nil }
      var override = JobOverride(path: path, text: value, origin: name)
      // Quotes would make the number a text.
      if path == "prefetch.concurrency", Quantities.count(value) != nil { override.value = value }
      override.yields = true
      return override
    }
  }
}

/// Merges overrides into the tree of a job file before it is checked.
struct JobOverrideMerge {
  private(set) var root: YAMLNode
  /// The text of each option that is valid YAML.
  private(set) var options: [SourceText] = []
  /// Errors of the options themselves; checking the tree finds others.
  private(set) var problems: [(message: String, location: YAMLLocation)] = []
  /// The texts of the defaults that lists started with.
  private var defaults: [SourceText] = []

  init(_ overrides: [JobOverride], over root: YAMLNode) {
    self.root = root
    for override in overrides where !override.yields || !Self.has(override.path, root) { apply(override) }
  }

  private static func has(_ path: String, _ root: YAMLNode) -> Bool {
    let found = path.split(separator: ".").reduce(Optional(root)) { node, name in
      node?.mapping?[String(name)]
    }
    return found != nil
  }

  private mutating func apply(_ override: JobOverride) {
    if override.removes { return root = Self.removing(override.parts[...], from: root) }
    let text = override.value.isEmpty ? "''" : override.value
    do {
      let document = try YAMLDocument(parsing: Array(text.utf8), name: override.label)
      options.append(document.source)
      root = set(document.root, at: override.parts[...], of: override, in: root)
    } catch {
      options.append(error.location.source)
      problems.append((error.message, error.location))
    }
  }

  private static func removing(_ parts: ArraySlice<String>, from node: YAMLNode) -> YAMLNode {
    guard let name = parts.first, var mapping = node.mapping else { return node }
    for index in mapping.pairs.indices.reversed() where mapping.pairs[index].key.scalar?.text == name {
      if parts.count == 1 {
        mapping.pairs.remove(at: index)
      } else {
        mapping.pairs[index].value = removing(parts.dropFirst(), from: mapping.pairs[index].value)
      }
    }
    return YAMLNode(.mapping(mapping), tag: node.tag, location: node.location)
  }

  private mutating func set(
    _ value: YAMLNode,
    at parts: ArraySlice<String>,
    of override: JobOverride,
    in node: YAMLNode?
  ) -> YAMLNode {
    guard let name = parts.first else { return override.appends ? appended(value, of: override, to: node) : value }
    let rest = parts.dropFirst()
    switch node?.content ?? .mapping(YAMLMapping([])) {
    case .scalar(let scalar) where scalar.isNull:
      return set(value, at: parts, of: override, in: nil)
    case .scalar:
      problems.append(("can't set '\(name)' below a single value", value.location))
      return node ?? value
    case .sequence(let items) where override.isOfEachList && parts.count + 1 == override.parts.count:
      return YAMLNode(
        .sequence(items.map { set(value, at: parts, of: override, in: $0) }),
        location: node?.location ?? value.location
      )
    case .sequence(var items):
      guard let index = Quantities.count(name), items.indices.contains(index) else {
        problems.append(("no item '\(name)' in the list; it has \(items.count) items, counted from 0", value.location))
        return node ?? value
      }
      items[index] = set(value, at: rest, of: override, in: items[index])
      return YAMLNode(.sequence(items), location: node?.location ?? value.location)
    case .mapping(var mapping):
      let key = YAMLNode(.scalar(YAMLScalar(name, isPlain: true)), location: value.location)
      let isSame = { (other: String?) in other == name || override.isHeader && other?.lowercased() == name.lowercased() }
      if let index = mapping.pairs.firstIndex(where: { isSame($0.key.scalar?.text) }) {
        mapping.pairs[index].value = set(value, at: rest, of: override, in: mapping.pairs[index].value)
        if rest.isEmpty, !override.appends { mapping.pairs[index].key = key }
      } else {
        mapping.pairs.append(YAMLMapping.Pair(key: key, value: set(value, at: rest, of: override, in: nil)))
      }
      return YAMLNode(.mapping(mapping), tag: node?.tag, location: node?.location ?? value.location)
    }
  }

  /// The list with the item appended; a missing list starts as its default, without the item that has the same target.
  private mutating func appended(_ value: YAMLNode, of override: JobOverride, to node: YAMLNode?) -> YAMLNode {
    var items: [YAMLNode] = []
    var location = value.location
    if let node {
      // Checking the tree rejects anything but a list.
      guard let given = node.sequence else { return node }
      (items, location) = (given, node.location)
    } else if let implied = JobKeys.key(at: override.path)?.defaultNode?.sequence {
      items = implied
      defaults += implied.map(\.location.source)
    }
    items.removeAll { item in
      defaults.contains { $0 === item.location.source } && Self.haveSameTarget(item, value)
    }
    return YAMLNode(.sequence(items + [value]), location: location)
  }

  /// Whether both are reports with the same target as written.
  private static func haveSameTarget(_ left: YAMLNode, _ right: YAMLNode) -> Bool {
    guard let left = target(of: left) else { return false }
    return left == target(of: right)
  }

  /// The path of a report, which may be the value of its format or a key of its section.
  private static func target(of report: YAMLNode) -> String? {
    let value = report.mapping?.pairs.first?.value
    return (value?.mapping?["path"] ?? value)?.scalar?.text
  }
}
