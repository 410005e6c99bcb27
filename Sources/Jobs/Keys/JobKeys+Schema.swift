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
    let variable: JobForm.Schema = [
      ("description", .string("an environment variable: ${NAME} or ${NAME:-default}")),
      ("type", .string("string")),
      ("pattern", .string(JobForm.variable)),
    ]
    let head: JobForm.Schema = [
      ("$schema", .string("https://json-schema.org/draft/2020-12/schema")),
      ("$id", .string("urn:prewarm:job:1")),
      ("title", .string("prewarm job")),
      ("description", .string("A job of prewarm, which warms image caches and checks image URLs.")),
    ]
    return JSONTree.object(head + schema(of: "") + [("$defs", .object([("variable", .object(variable))]))]).text
  }

  /// The schema of the section at `path`; empty for the job itself.
  private static func schema(of path: String, exactlyOneOf names: [String] = []) -> JobForm.Schema {
    let keys = bySection[path] ?? []
    var members: JobForm.Schema = [("type", .string("object")), ("properties", .object(keys.map { ($0.name, property($0)) }))]
    let required = keys.filter(\.isRequired).map(\.name)
    if !required.isEmpty { members.append(("required", .strings(required))) }
    if !names.isEmpty {
      let choices = keys.map(\.name).filter(names.contains)
      members.append(("oneOf", .array(choices.map { .object([("required", .strings([$0]))]) })))
    }
    return members + [("additionalProperties", .boolean(false))]
  }

  private static func property(_ key: JobKey) -> JSONTree {
    var members: JobForm.Schema = [("description", .string(key.summary))]
    switch key.kind {
    case .value: members += key.form.schema
    case .section: members += schema(of: key.path)
    case .named(let names):
      members += [
        ("type", .string("object")), ("propertyNames", .object(names.schema)),
        ("additionalProperties", .object(schema(of: key.path + "[]"))),
      ]
    case .valueOrSection:
      // After the words or the text, before a variable.
      var schemas = key.form.schemas()
      schemas.insert(schema(of: key.path), at: 1)
      members.append(("anyOf", .array(schemas.map { .object($0) })))
    case .entries(let names, let minimum):
      members += [("type", .string("array")), ("items", .object(schema(of: key.path + "[]", exactlyOneOf: names)))]
      if minimum > 0 { members.append(("minItems", .number("\(minimum)"))) }
    }
    if let node = key.defaultNode { members.append(("default", JSONTree(node))) }
    if let example = key.example { members.append(("examples", .array([JSONTree(node(example, of: key.path))]))) }
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
