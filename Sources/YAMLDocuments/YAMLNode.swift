/// A value of a YAML document and the place where it stands.
///
/// An alias is replaced by what it stands for, located where that is written.
public struct YAMLNode: Sendable {
  /// What a node holds.
  public enum Content: Sendable {
    case scalar(YAMLScalar)
    case sequence([YAMLNode])
    case mapping(YAMLMapping)
  }

  public var content: Content
  /// The tag that was written, such as `tag:yaml.org,2002:int`; nil if there was none, or that of the node's kind.
  public var tag: String?
  /// Where it stands.
  public var location: SourceLocation

  /// A node at a place.
  public init(_ content: Content, tag: String? = nil, location: SourceLocation) {
    self.content = content
    self.tag = tag
    self.location = location
  }

  /// The scalar, where it is one.
  public var scalar: YAMLScalar? {
    if case .scalar(let scalar) = content { scalar } else { nil }
  }

  /// The items, where it is a sequence.
  public var sequence: [YAMLNode]? {
    if case .sequence(let items) = content { items } else { nil }
  }

  /// The mapping, where it is one.
  public var mapping: YAMLMapping? {
    if case .mapping(let mapping) = content { mapping } else { nil }
  }

  /// Whether both hold the same: scalars by their text, mappings in any order; style, tags and places do not count.
  public func hasSameContent(as other: YAMLNode) -> Bool {
    switch (content, other.content) {
    case (.scalar(let left), .scalar(let right)):
      return left.text == right.text
    case (.sequence(let left), .sequence(let right)):
      return left.count == right.count && zip(left, right).allSatisfy { $0.hasSameContent(as: $1) }
    case (.mapping(let left), .mapping(let right)):
      return left.pairs.count == right.pairs.count
        && left.pairs.allSatisfy { pair in
          right.pairs.contains { $0.key.hasSameContent(as: pair.key) && $0.value.hasSameContent(as: pair.value) }
        }
    default: return false
    }
  }
}

/// A scalar's text and how it was written.
public struct YAMLScalar: Sendable, Hashable {
  /// The text, escapes and folding resolved.
  public var text: String
  /// Whether it was written without quotes and not as a block, so that `5` may be a number and `~` nothing.
  public var isPlain: Bool

  /// A scalar of that text.
  public init(_ text: String, isPlain: Bool) {
    self.text = text
    self.isPlain = isPlain
  }

  /// Whether it stands for no value: empty, `~` or `null`, without quotes (YAML 1.1, the null type).
  public var isNull: Bool { isPlain && ["", "~", "null", "Null", "NULL"].contains(text) }
}

/// The pairs of a mapping in the order in which they are written, duplicates included.
public struct YAMLMapping: Sendable {
  /// A key and its value.
  public struct Pair: Sendable {
    /// The key, which may be any node.
    public var key: YAMLNode
    /// The value.
    public var value: YAMLNode

    /// A key and its value.
    public init(key: YAMLNode, value: YAMLNode) {
      self.key = key
      self.value = value
    }
  }

  /// Keys and values in order.
  public var pairs: [Pair]

  /// A mapping of these pairs.
  public init(_ pairs: [Pair]) { self.pairs = pairs }

  /// The value of the first pair whose key is that text.
  public subscript(key: String) -> YAMLNode? { pairs.first { $0.key.scalar?.text == key }?.value }

  /// Every key that was given before in this mapping, beside the first of its name.
  public var duplicateKeys: [(first: YAMLNode, again: YAMLNode)] {
    var firsts: [String: YAMLNode] = [:]
    var duplicates: [(first: YAMLNode, again: YAMLNode)] = []
    for pair in pairs {
      guard let name = pair.key.scalar?.text else { continue }
      if let first = firsts[name] { duplicates.append((first, pair.key)) } else { firsts[name] = pair.key }
    }
    return duplicates
  }
}
