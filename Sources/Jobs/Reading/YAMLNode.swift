/// A value of a YAML document with its location.
///
/// An alias is replaced by its node, with the location of that.
struct YAMLNode: Sendable {
  enum Content: Sendable {
    case scalar(YAMLScalar)
    case sequence([YAMLNode])
    case mapping(YAMLMapping)
  }

  var content: Content
  /// The explicit tag, such as `tag:yaml.org,2002:int`; nil if there is none, or that of the node's kind.
  var tag: String?
  var location: YAMLLocation

  init(_ content: Content, tag: String? = nil, location: YAMLLocation) {
    (self.content, self.tag, self.location) = (content, tag, location)
  }

  var scalar: YAMLScalar? {
    if case .scalar(let scalar) = content { scalar } else { nil }
  }

  var sequence: [YAMLNode]? {
    if case .sequence(let items) = content { items } else { nil }
  }

  var mapping: YAMLMapping? {
    if case .mapping(let mapping) = content { mapping } else { nil }
  }
}

/// A scalar's text and how it was written.
struct YAMLScalar: Sendable, Hashable {
  /// The text, with escapes and folding resolved.
  var text: String
  /// Whether it was written without quotes and not as a block, so that `5` may be a number and `~` null.
  var isPlain: Bool

  init(_ text: String, isPlain: Bool) { (self.text, self.isPlain) = (text, isPlain) }

  /// Whether it means no value: empty, `~` or `null`, without quotes (YAML 1.1, the null type).
  var isNull: Bool { isPlain && ["", "~", "null", "Null", "NULL"].contains(text) }
}

/// The pairs of a mapping in the order of the text, including duplicates.
struct YAMLMapping: Sendable {
  struct Pair: Sendable {
    var key: YAMLNode
    var value: YAMLNode
  }

  var pairs: [Pair]

  init(_ pairs: [Pair]) { self.pairs = pairs }

  subscript(key: String) -> YAMLNode? { pairs.first { $0.key.scalar?.text == key }?.value }

  /// Every repeated key of this mapping, with the first key of that name.
  var duplicateKeys: [(first: YAMLNode, again: YAMLNode)] {
    var firsts: [String: YAMLNode] = [:]
    var duplicates: [(first: YAMLNode, again: YAMLNode)] = []
    for pair in pairs {
      guard let name = pair.key.scalar?.text else { continue }
      if let first = firsts[name] { duplicates.append((first, pair.key)) } else { firsts[name] = pair.key }
    }
    return duplicates
  }
}
