import ImageDownloading

/// The key whose value a ``JobCodec`` reads, for messages, and the surroundings of the job.
struct JobValueReader {
  let name: String
  /// What the whole value may be; a codec may read a part of it.
  let form: JobForm
  let environment: [String: String]
  let folder: String
  let errors: JobFileErrorList

  /// A reader whose messages name a part of the value.
  func named(_ name: String, _ form: JobForm) -> JobValueReader {
    JobValueReader(name: name, form: form, environment: environment, folder: folder, errors: errors)
  }

  /// A scalar with its variables filled in.
  struct Scalar {
    let text: String
    /// Whether it may contain secrets from the environment.
    let hasVariables: Bool
    /// Whether it may be a number or a boolean: without quotes, or with quotes around variables.
    let isPlain: Bool
  }

  /// The scalar of a node; nil, with an error, if it is another kind of value, or nothing.
  func scalar(_ node: YAMLNode) -> Scalar? { node.scalar?.isNull == false ? expanded(node) : refuse(node) }

  private func expanded(_ node: YAMLNode) -> Scalar? {
    guard let written = node.scalar else { return nil }
    let expansion = EnvironmentExpansion(written.text, environment: environment)
    for problem in expansion.problems { errors.add(problem.message, at: node, narrowedTo: problem.part) }
    guard expansion.problems.isEmpty else { return nil }
    return Scalar(text: expansion.text, hasVariables: expansion.hasVariables, isPlain: written.isPlain || expansion.hasVariables)
  }

  func isWord(_ word: String, _ node: YAMLNode) -> Bool {
    node.scalar.map { EnvironmentExpansion($0.text, environment: environment).text == word } ?? false
  }

  /// Where a path starts that the node has.
  func folder(of node: YAMLNode) -> String { errors.isOption(node) ? currentFolder() : folder }

  /// Adds an error that begins with what the key, or a part of it, requires.
  func fail<Value>(_ node: YAMLNode, of part: String? = nil, requires expectation: String? = nil, _ end: String = "") -> Value? {
    errors.add("\(part ?? "'\(name)'") requires \(expectation ?? form.expectation)\(end)", at: node)
    return nil
  }

  /// Reports a value of another type than the key requires.
  ///
  /// - Parameter isList: whether the key requires a list; the advice then makes the value its only item.
  func refuse<Value>(_ node: YAMLNode, isList: Bool = false) -> Value? {
    guard let written = node.scalar, !written.isNull else { return fail(node, ", not \(node.kindPhrase)") }
    let expansion = EnvironmentExpansion(written.text, environment: environment)
    let shown = errors.shown(written.text, of: node) + (expansion.hasVariables ? " (with its variables filled in)" : "")
    if let correction = form.correction {
      errors.add("\(shown) \(correction)", at: node)
      return nil
    }
    if form.isInteger, !written.isPlain, Quantities.count(written.text) != nil {
      return fail(node, ", not text; remove the quotes")
    }
    let isShownWhole = shown == "'\(written.text)'" && !written.text.contains { ",[]{}#\"'".contains($0) }
    return fail(node, ", not \(shown)" + (isList && isShownWhole ? "; write \(name): [\(written.text)]" : ""))
  }

  // MARK: Mappings

  /// Values by names, each name once; `names` returns a name, or nil after it has added an error.
  ///
  /// - Parameter isNamed: whether messages about a value name its name instead of the key.
  func values<Value>(
    _ node: YAMLNode,
    _ codec: JobCodec<Value>,
    isNamed: Bool,
    _ names: (YAMLNode) -> String?
  ) -> [(name: String, value: Value)]? {
    guard let mapping = node.mapping else { return refuse(node) }
    for (_, again) in mapping.duplicateKeys { errors.add("duplicate name '\(again.scalar?.text ?? "")'", at: again) }
    return mapping.pairs.compactMap { pair in
      guard let name = names(pair.key) else { return nil }
      return codec.value(pair.value, isNamed ? named(name, codec.form) : self).map { (name, $0) }
    }
  }

  func headers(_ node: YAMLNode, ofVariant: Bool) -> [HeaderField]? {
    guard let mapping = node.mapping else { return refuse(node) }
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
      if HeaderRules.isValue(value) {
        headers.append(HeaderField(name, value))
      } else {
        errors.add("the header '\(name)' requires \(JobTextForm.headerValue.form.expectation)", at: pair.value)
      }
    }
    return headers
  }
}
