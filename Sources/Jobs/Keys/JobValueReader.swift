internal import Base
internal import Lists
internal import ImageDownloading

/// Reads the value of one key by its type.
struct JobValueReader {
  /// The key, for messages.
  let name: String
  /// The whole type of the key, which contains nested types.
  let whole: JobValueType
  let environment: [String: String]
  let folder: String
  let errors: JobFileErrorList

  /// The value; nil if it is invalid.
  func value(_ node: YAMLNode, _ type: JobValueType) -> JobValue? {
    if let tag = node.tag {
      errors.add("unsupported tag '\(tag)'; remove it", at: node)
      return nil
    }
    switch type {
    case .either(let word, let inner):
      if let scalar = node.scalar, EnvironmentExpansion(scalar.text, environment: environment).text == word { return .word(word) }
      return value(node, inner)
    case .list(let inner):
      guard let items = node.sequence else { return refuse(node, isList: true) }
      return .list(items.compactMap { item in value(item, inner).map { ($0, item.location.range.start.line) } })
    case .statuses(let bounds):
      guard let items = node.sequence else { return refuse(node, isList: true) }
      return .ranges(items.compactMap { statuses($0, bounds) })
    case .headers(let ofVariant):
      guard let mapping = node.mapping else { return refuse(node) }
      return .headers(headers(mapping, ofVariant: ofVariant))
    case .mapping(let inner):
      guard let mapping = node.mapping else { return refuse(node) }
      return .mapping(values(mapping, inner))
    case .limits(let noun, let names, let inner):
      guard let mapping = node.mapping else { return refuse(node) }
      return .mapping(limits(mapping, noun: noun, names: names, inner))
    case .textOrSection(let form, _): return value(node, .text(form))
    case .section, .entries: preconditionFailure("not the type of a value")
    default:
      guard node.scalar?.isNull == false else { return refuse(node) }
      guard let scalar = expanded(node) else { return nil }
      switch type {
      case .text(.webURL): return webURL(scalar, node)
      case .text(.pattern): return pattern(scalar, node)
      case .secretVariable: return secret(scalar, node)
      default: return self.scalar(scalar, type, node) ?? refuse(node)
      }
    }
  }

  /// A scalar with its variables filled in.
  private struct Scalar {
    let text: String
    /// Whether it may contain secrets from the environment.
    let hasVariables: Bool
    /// Whether it may be a number or a boolean: without quotes, or with quotes around variables.
    let isPlain: Bool
  }

  private func expanded(_ node: YAMLNode) -> Scalar? {
    guard let written = node.scalar else { return nil }
    let expansion = EnvironmentExpansion(written.text, environment: environment)
    for problem in expansion.problems { errors.add(problem.message, at: node, narrowedTo: problem.part) }
    guard expansion.problems.isEmpty else { return nil }
    return Scalar(text: expansion.text, hasVariables: expansion.hasVariables, isPlain: written.isPlain || expansion.hasVariables)
  }

  /// The value of a scalar; nil if it isn't of the type.
  private func scalar(_ scalar: Scalar, _ type: JobValueType, _ node: YAMLNode) -> JobValue? {
    let text = scalar.text
    switch type {
    case .text(.path): return JobTextForm.path.accepts(text) ? .path(JobPath(text, in: folder(of: node))) : nil
    case .text(let form): return form.accepts(text) ? .text(text) : nil
    case .boolean: return scalar.isPlain ? ["true": true, "false": false][text].map { .boolean($0) } : nil
    case .integer(let range): return scalar.isPlain ? Quantities.count(text).flatMap { number($0, in: range) } : nil
    case .size(let range): return Quantities.size(text).flatMap { number($0, in: range) }
    case .pixels(let range): return Quantities.pixels(text).flatMap { number($0, in: range) }
    case .duration(let minimum): return Quantities.duration(text).flatMap { $0 < minimum ? nil : .duration($0) }
    case .percentage: return Quantities.percentage(text).map { .fraction($0) }
    case .rate: return Quantities.rate(text).map { .rate($0) }
    case .hostAndPort: return HostRules.hostAndPort(text).map { .hostAndPort(host: $0.host, port: $0.port) }
    case .connectTarget: return HostRules.connectTarget(text).map { .connectTarget($0) }
    case .countOrPercentage:
      return Quantities.percentage(text).map { .fraction($0) }
        ?? (scalar.isPlain ? Quantities.count(text).map { .integer($0) } : nil)
    case .choice(_, let words), .wordOrSection(let words, _): return words.contains(text) ? .word(text) : nil
    default: preconditionFailure("not the type of a scalar")
    }
  }

  /// The value of the environment variable named by the scalar; no message shows it.
  private func secret(_ scalar: Scalar, _ node: YAMLNode) -> JobValue? {
    guard !scalar.text.isEmpty, scalar.text.utf8.allSatisfy({ $0.isLetter || $0.isDigit || $0 == 0x5F }) else {
      errors.add("'\(name)' requires \(whole.expectation), not the secret itself", at: node)
      return nil
    }
    guard let value = environment[scalar.text] else {
      errors.add("environment variable not set; set it to the secret", at: node)
      return nil
    }
    guard HeaderRules.isValue(value) else {
      errors.add("the value of this environment variable contains control characters; remove them", at: node)
      return nil
    }
    return .text(value)
  }

  /// Values by names, each name once.
  private func values(_ mapping: YAMLMapping, _ type: JobValueType) -> [(name: String, value: JobValue)] {
    for (_, again) in mapping.duplicateKeys { errors.add("duplicate name '\(again.scalar?.text ?? "")'", at: again) }
    return mapping.pairs.compactMap { pair in
      guard let name = pair.key.scalar?.text, JobTextForm.namespace.accepts(name) else {
        errors.add("a name in '\(self.name)' requires \(JobTextForm.namespace.expectation)", at: pair.key)
        return nil
      }
      // The error of a list shows how to write it.
      guard case .list = type else { return value(pair.value, type).map { (name, $0) } }
      let reader = JobValueReader(name: name, whole: type, environment: environment, folder: folder, errors: errors)
      return reader.value(pair.value, type).map { (name, $0) }
    }
  }

  /// Values by names of a given set, each once.
  private func limits(
    _ mapping: YAMLMapping,
    noun: String,
    names: [String],
    _ type: JobValueType
  ) -> [(name: String, value: JobValue)] {
    for (_, again) in mapping.duplicateKeys { errors.add("duplicate name '\(again.scalar?.text ?? "")'", at: again) }
    return mapping.pairs.compactMap { pair in
      guard let name = pair.key.scalar?.text, names.contains(name) else {
        let written = pair.key.scalar.map { errors.shown($0.text, of: pair.key) } ?? pair.key.kindPhrase
        let nearest = pair.key.scalar.flatMap { Suggestions.nearest(to: $0.text, among: names) }
        let advice = nearest.map { "did you mean '\($0)'?" } ?? "use \(JobValueType.alternatives(names))"
        errors.add("\(written) isn't \(noun); \(advice)", at: pair.key)
        return nil
      }
      let reader = JobValueReader(name: name, whole: type, environment: environment, folder: folder, errors: errors)
      return reader.value(pair.value, type).map { (name, $0) }
    }
  }

  private func webURL(_ scalar: Scalar, _ node: YAMLNode) -> JobValue? {
    do {
      return .webURL(try BaseURL(scalar.text))
    } catch {
      let reason =
        switch error.reason {
        case .empty, .relative, .scheme: ""
        default: ": \(error.message)"
        }
      errors.add("'\(name)' requires \(whole.expectation)\(reason)", at: node)
      return nil
    }
  }

  private func pattern(_ scalar: Scalar, _ node: YAMLNode) -> JobValue? {
    do {
      return .pattern(try URLPattern(scalar.text))
    } catch {
      // The message of the library may contain values of variables.
      let reason = scalar.hasVariables ? "" : ": \(error.message)"
      errors.add("'\(name)' requires \(JobTextForm.pattern.expectation)\(reason)", at: node)
      return nil
    }
  }

  private func number(_ number: Int, in range: ClosedRange<Int>) -> JobValue? { range.contains(number) ? .integer(number) : nil }

  private func folder(of node: YAMLNode) -> String { errors.isOption(node) ? currentFolder() : folder }

  /// `404` or `404-406`.
  private func statuses(_ node: YAMLNode, _ bounds: ClosedRange<Int>) -> ClosedRange<Int>? {
    guard node.scalar != nil, node.tag == nil else { return refuse(node) }
    guard let scalar = expanded(node) else { return nil }
    let ends = scalar.text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map {
      Quantities.count(String($0))
    }
    guard let first = ends[0], let last = ends[ends.count - 1], first <= last, bounds.contains(first), bounds.contains(last)
    else {
      return refuse(node)
    }
    return first...last
  }

  private func headers(_ mapping: YAMLMapping, ofVariant: Bool) -> [HeaderField] {
    var headers: [HeaderField] = []
    for pair in mapping.pairs {
      guard let name = pair.key.scalar?.text else {
        errors.add("the name of a header must be text, not \(pair.key.kindPhrase)", at: pair.key)
        continue
      }
      if let problem = HeaderRules.problem(name: name, ofVariant: ofVariant) {
        // A name with a colon or a space may be a whole header, with a secret.
        errors.add(errors.isSecret(pair.key) ? "this isn't the name of a header" : problem, at: pair.key)
      } else if headers.contains(where: { $0.name.lowercased() == name.lowercased() }) {
        errors.add("duplicate header '\(name)'; names are case-insensitive", at: pair.key)
      }
      guard let scalar = pair.value.scalar, !scalar.isNull, pair.value.tag == nil else {
        errors.add("the header '\(name)' requires text, not \(pair.value.kindPhrase)", at: pair.value, or: pair.key)
        continue
      }
      guard let value = expanded(pair.value)?.text else { continue }
      guard HeaderRules.isValue(value) else {
        errors.add("the header '\(name)' requires \(JobTextForm.headerValue.expectation)", at: pair.value)
        continue
      }
      headers.append(HeaderField(name, value))
    }
    return headers
  }

  /// Reports a value of another type than the key requires.
  ///
  /// - Parameter isList: whether the key requires a list; the advice then makes the value its only item.
  private func refuse<Value>(_ node: YAMLNode, isList: Bool = false) -> Value? {
    guard let written = node.scalar, !written.isNull else {
      errors.add("'\(name)' requires \(whole.expectation), not \(node.kindPhrase)", at: node)
      return nil
    }
    let expansion = EnvironmentExpansion(written.text, environment: environment)
    let shown = errors.shown(written.text, of: node) + (expansion.hasVariables ? " (with its variables filled in)" : "")
    if case .choice(let noun, let words) = whole.innermost {
      errors.add("\(shown) isn't \(noun); use \(JobValueType.alternatives(words))", at: node)
    } else if case .integer = whole.innermost, !written.isPlain, Quantities.count(written.text) != nil {
      errors.add("'\(name)' requires \(whole.expectation), not text; remove the quotes", at: node)
    } else {
      let isShownWhole = shown == "'\(written.text)'" && !written.text.contains { ",[]{}#\"'".contains($0) }
      let advice = isList && isShownWhole ? "; write \(name): [\(written.text)]" : ""
      errors.add("'\(name)' requires \(whole.expectation), not \(shown)\(advice)", at: node)
    }
    return nil
  }
}

extension JobValueType {
  /// The type of a single value in a list or next to a word.
  fileprivate var innermost: JobValueType {
    switch self {
    case .list(let inner), .either(_, let inner), .mapping(let inner), .limits(_, _, let inner): inner.innermost
    default: self
    }
  }
}
