extension JobSchema {
  /// The members of the schema of what a key holds; `path` is the key's, for the keys below it.
  static func value(_ type: JobValueType, at path: String) -> [JSONTree.Member] {
    let choices = alternatives(type, at: path)
    return choices.count == 1 ? choices[0] : [("anyOf", .array(choices.map { .object($0) }))]
  }

  /// The schemas of which one fits.
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

  /// A word as text, and as the number that YAML reads where it looks like one.
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
      // No number is a URL.
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
  ///   - bounds: of numbers; what has no upper bound ends with the largest integer.
  ///   - pattern: of whole texts that are no variables; nil where only a variable is text.
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
    members.append(("errorMessage", .string("needs \(type.expectation)")))
    return members
  }
}
