internal import YAMLDocuments

/// Finds what no message may show of a job file: values of header fields, proxies, and URLs with a user in them; and what stands where
/// the name of a secret's variable belongs, as it may be the secret itself.
///
/// What variables hold never stands in the file, so its lines cannot show it.
enum JobSecrets {
  /// The stretches of all secrets below `node`.
  static func ranges(in node: YAMLNode) -> [SourceRange] {
    switch node.content {
    case .scalar(let scalar): scalar.text.contains("://") && scalar.text.contains("@") ? [node.location.range] : []
    case .sequence(let items): items.flatMap(ranges)
    case .mapping(let mapping):
      mapping.pairs.flatMap { pair in
        switch pair.key.scalar?.text {
        case "headers", "variants", "proxy", "password-env": values(in: pair.value)
        default: ranges(in: pair.value)
        }
      }
    }
  }

  private static func values(in node: YAMLNode) -> [SourceRange] {
    switch node.content {
    case .scalar: [node.location.range]
    case .sequence(let items): items.flatMap(values)
    case .mapping(let mapping): mapping.pairs.flatMap { values(in: $0.value) }
    }
  }
}
