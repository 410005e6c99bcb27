import Reports

extension JobKeys {
  /// The JSON Schema of the job file (draft 2020-12), for editors and other tools; the text ends with a newline.
  ///
  /// It describes YAML 1.2 as JSON: where text is allowed, so are values that YAML reads as numbers. Editors with
  /// vscode-json-languageservice or yaml-language-server, and ajv-errors, show `errorMessage`.
  ///
  /// Everything that it rejects is an error. ``JobFile/load(path:overrides:environment:)`` finds more: keys that exclude each other,
  /// invalid patterns, unset variables, and the original form of numbers.
  package static func schema() -> String {
    let head: [JSONTree.Member] = [
      ("$schema", .string("https://json-schema.org/draft/2020-12/schema")),
      ("$id", .string("urn:prewarm:job:1")),
      ("title", .string("prewarm job")),
      ("description", .string("A job of prewarm, which warms image caches and checks image URLs.")),
    ]
    let definitions: [JSONTree.Member] = [
      (
        "variable",
        .object([
          ("description", .string("an environment variable: ${NAME} or ${NAME:-default}")),
          ("type", .string("string")),
          ("pattern", .string(SchemaPatterns.variable)),
        ])
      )
    ]
    return JSONTree.object(head + JobSchema.section("") + [("$defs", .object(definitions))]).text
  }
}

/// Makes the schemas of sections and keys.
enum JobSchema {
  /// The members of the schema of the section at `path`; empty for the job itself.
  static func section(_ path: String, exactlyOneOf names: [String] = []) -> [JSONTree.Member] {
    let keys = JobKeys.bySection[path] ?? []
    var members: [JSONTree.Member] = [("type", .string("object"))]
    members.append(("properties", .object(keys.map { ($0.name, property($0)) })))
    let required = keys.filter(\.isRequired).map(\.name)
    if !required.isEmpty { members.append(("required", .strings(required))) }
    if !names.isEmpty {
      let choices = keys.map(\.name).filter(names.contains)
      members.append(("oneOf", .array(choices.map { .object([("required", .strings([$0]))]) })))
    }
    members.append(("additionalProperties", .boolean(false)))
    return members
  }

  private static func property(_ key: JobKey) -> JSONTree {
    var members: [JSONTree.Member] = [("description", .string(key.summary))]
    members += value(key.type, at: key.path)
    if let node = key.defaultNode { members.append(("default", JSONTree(node))) }
    if let example = key.example { members.append(("examples", .array([JSONTree(JobKeys.node(example, of: key.path))]))) }
    return .object(members)
  }
}

extension JSONTree {
  /// Converts a node of the table of keys as YAML 1.2 does: plain whole numbers and booleans keep their type.
  fileprivate init(_ node: YAMLNode) {
    switch node.content {
    case .scalar(let scalar) where scalar.isPlain && ["true", "false"].contains(scalar.text):
      self = .boolean(scalar.text == "true")
    case .scalar(let scalar) where scalar.isPlain && Quantities.count(scalar.text) != nil: self = .number(scalar.text)
    case .scalar(let scalar): self = .string(scalar.text)
    case .sequence(let items): self = .array(items.map(JSONTree.init))
    case .mapping(let mapping): self = .object(mapping.pairs.map { ($0.key.scalar?.text ?? "", JSONTree($0.value)) })
    }
  }
}

extension JobSchema {
  /// The members of the schema of a value; `path` is that of its key.
  static func value(_ type: JobValueType, at path: String) -> [JSONTree.Member] {
    let choices = alternatives(type, at: path)
    return choices.count == 1 ? choices[0] : [("anyOf", .array(choices.map { .object($0) }))]
  }

  /// The schemas of which one must match.
  private static func alternatives(_ type: JobValueType, at path: String) -> [[JSONTree.Member]] {
    switch type {
    case .section: [section(path)]
    case .entries(let names, let minimum):
      [list(of: section(path + "[]", exactlyOneOf: names)) + (minimum > 0 ? [("minItems", .number("\(minimum)"))] : [])]
    case .choice(_, let words): [[("enum", .array(words.flatMap(written)))], variable]
    case .either(let word, let inner):
      [[("const", .string(word))]] + alternatives(inner, at: path)
    case .wordOrSection(let words, _): [[("enum", .array(words.flatMap(written)))], section(path), variable]
    case .textOrSection(let form, _): [scalar(.text(form)), section(path)]
    case .list(let inner): [list(of: value(inner, at: path))]
    case .statuses(let range): [list(of: statuses(range, type))]
    case .headers(let ofVariant):
      [mapping(names: [("pattern", .string(SchemaPatterns.headerName(ofVariant: ofVariant)))], scalar(.text(.headerValue)))]
    case .mapping(let inner):
      [mapping(names: [("pattern", .string("^\(SchemaPatterns.namespace)$"))], value(inner, at: path))]
    case .limits(_, let names, let inner): [mapping(names: [("enum", .strings(names))], value(inner, at: path))]
    default: [scalar(type)]
    }
  }

  private static let variable: [JSONTree.Member] = [("$ref", .string("#/$defs/variable"))]

  /// A word as text, and also as a number if YAML reads it as one.
  private static func written(_ word: String) -> [JSONTree] {
    let isNumber = Double(word) != nil && word.utf8.allSatisfy { $0.isDigit || $0 == 0x2E }
    return isNumber ? [.string(word), .number(word)] : [.string(word)]
  }

  private static func list(of item: [JSONTree.Member]) -> [JSONTree.Member] {
    [("type", .string("array")), ("items", .object(item))]
  }

  private static func mapping(names: [JSONTree.Member], _ value: [JSONTree.Member]) -> [JSONTree.Member] {
    [("type", .string("object")), ("propertyNames", .object(names)), ("additionalProperties", .object(value))]
  }

  private static func statuses(_ range: ClosedRange<Int>, _ type: JobValueType) -> [JSONTree.Member] {
    let status = "0*[\(range.lowerBound / 100)-\(range.upperBound / 100)][0-9]{2}"
    return single(["integer", "string"], bounds: range, pattern: "\(status)(-\(status))?", type)
  }

  /// The schema of a single value, a variable included.
  private static func scalar(_ type: JobValueType) -> [JSONTree.Member] {
    switch type {
    case .text(let form):
      // A number is never a URL.
      single(
        [.webURL, .proxyURL].contains(form) ? ["string"] : ["string", "number", "boolean"],
        pattern: SchemaPatterns.text(form),
        type
      )
    case .boolean: single(["boolean", "string"], pattern: nil, type)
    case .integer(let range): single(["integer", "string"], bounds: range, pattern: nil, type)
    case .size(let range):
      single(["number", "string"], bounds: range, pattern: SchemaPatterns.size(from: range.lowerBound), type)
    case .pixels(let range):
      single(["number", "string"], bounds: range, pattern: SchemaPatterns.pixels(from: range.lowerBound), type)
    case .duration(let minimum): single(["string"], pattern: SchemaPatterns.duration(from: minimum), type)
    case .percentage: single(["string"], pattern: SchemaPatterns.percentage, type)
    case .countOrPercentage: single(["integer", "string"], bounds: 0...Int.max, pattern: SchemaPatterns.percentage, type)
    case .rate: single(["string"], pattern: SchemaPatterns.rate, type)
    case .hostAndPort: single(["string"], pattern: SchemaPatterns.hostAndPort, type)
    case .connectTarget: single(["string"], pattern: SchemaPatterns.connectTarget, type)
    case .secretVariable: single(["string"], pattern: "[A-Za-z0-9_]+", type)
    default: preconditionFailure("not the type of a scalar")
    }
  }

  /// - Parameters:
  ///   - bounds: the bounds of numbers; `Int.max` means none.
  ///   - pattern: the pattern of whole texts without variables; nil if all text must be a variable.
  private static func single(
    _ types: [String],
    bounds: ClosedRange<Int>? = nil,
    pattern: String?,
    _ type: JobValueType
  ) -> [JSONTree.Member] {
    var members: [JSONTree.Member] = [("type", types.count == 1 ? .string(types[0]) : .strings(types))]
    if let bounds {
      members.append(("minimum", .number("\(bounds.lowerBound)")))
      if bounds.upperBound < .max { members.append(("maximum", .number("\(bounds.upperBound)"))) }
    }
    if let pattern {
      if pattern != SchemaPatterns.any { members.append(("pattern", .string("^(?:\(pattern))$|\(SchemaPatterns.variable)"))) }
    } else {
      members.append(("pattern", .string(SchemaPatterns.variable)))
    }
    members.append(("errorMessage", .string("requires \(type.expectation)")))
    return members
  }
}

/// Regular expressions (ECMA-262, as in JSON Schema) for texts of the job file.
///
/// They accept more than the reader where the exact rule isn't regular, such as for hosts in Unicode or the longest duration.
enum SchemaPatterns {
  /// Matches any text, so no pattern is written.
  static let any = ""

  /// The start of a variable in a text: `${NAME` after an even number of dollars.
  static let variable = #"(?:^|[^$])(?:\$\$)*\$\{[A-Za-z_]"#

  static let namespace = "[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}"
  static let rate = "(?=[0-9.]*[1-9])\(number)/[smh]"
  static let percentage = #"0*(?:100(?:\.0{1,6})?|[0-9]{1,2}(?:\.[0-9]{1,6})?)%"#
  static let hostAndPort = "(?:\(host)):\(port)"
  static let connectTarget = "(?!.*::$)(?:\(host))?:(?:\(port))?:(?:\(host))?:(?:\(port))?"

  static func size(from minimum: Int) -> String { aboveZero(minimum > 0) + number + "(?:B|[kKMGT]B|[KMGT]iB)?" }

  static func pixels(from minimum: Int) -> String { aboveZero(minimum > 0) + number + "(?:[KMG]P)?" }

  static func duration(from minimum: Duration) -> String { aboveZero(minimum > .zero) + number + "(?:ms|s|m|h|d)" }

  /// The pattern of a text form.
  static func text(_ form: JobTextForm) -> String {
    switch form {
    case .free, .entry, .pattern: any
    case .jobName: "[a-z0-9][a-z0-9-]{0,99}"
    case .namespace: namespace
    case .path: #"[^\x00]+"#
    case .webURL: #"\s*[Hh][Tt][Tt][Pp][Ss]?:[/\\]*[^/\\?#].*"#
    case .headerValue: "\(visible)*"
    case .parameter: "[!$-%'-;?-~]+"
    case .proxyURL: #"(?:[A-Za-z][A-Za-z0-9]*://)?[!-.0-~]+/?"#
    case .username: #"[^:\x00-\x08\x0A-\x1F\x7F]+"#
    }
  }

  /// The name of a header that a job may set (RFC 9110, section 5.6.2), case-insensitive.
  static func headerName(ofVariant: Bool) -> String {
    let refused = HeaderRules.refusedNames(ofVariant: ofVariant).map { name in
      name.map { $0.isLetter ? "[\($0.uppercased())\($0)]" : String($0) }.joined()
    }
    return "^(?!(?:\(refused.joined(separator: "|")))$)[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
  }

  private static let number = #"[0-9]+(?:\.[0-9]{1,6})?"#
  private static let port = "0*[1-9][0-9]{0,4}"
  private static let host = #"\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\\\[\]]+"#
  /// Any character except control characters; tabs are allowed.
  private static let visible = #"[^\x00-\x08\x0A-\x1F\x7F]"#

  private static func aboveZero(_ isAsked: Bool) -> String { isAsked ? "(?=[0-9.]*[1-9])" : "" }
}
