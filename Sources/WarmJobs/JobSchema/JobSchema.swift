internal import YAMLDocuments

extension JobKeys {
  /// The JSON Schema of the job file (draft 2020-12), for editors and other tools; the text ends with a newline.
  ///
  /// It describes YAML 1.2 as JSON: what YAML reads as a number may stand where a number or text is meant. `errorMessage` is what vscode-json-languageservice, yaml-language-server and ajv-errors show.
  ///
  /// What it accepts may still be a mistake, which ``JobFile/load(path:overrides:environment:)`` tells: keys that do not go
  /// together, patterns that are none, variables that are not set, and what is lost when YAML is read, such as how a number was
  /// written. What it refuses is one.
  public static func schema() -> String {
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
          ("description", .string("a variable of the environment: ${NAME} or ${NAME:-default}")),
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
  /// What YAML 1.2 makes of a node of the description of the keys: whole numbers and truths where they are written plainly.
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
