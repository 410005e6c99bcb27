internal import Lists

// Checks of templates, signatures and the attributes of pages.
extension JobReader {
  // MARK: Templates

  /// Rejects a template that can't be parsed, and variables that it doesn't use.
  func checkTemplate(_ index: Int) {
    let (manifest, path) = (job.manifests[index], "manifests[\(index)]")
    let variables = given["\(path).expand"]
    guard let node = given["\(path).template"], manifest.template != nil else {
      guard let variables, let name = manifest.expand.first?.name, !isInvalid("template", index) else { return }
      return errors.add("'expand' has no effect without 'template'; add template: \"{url}?\(name)={\(name)}\"", at: variables)
    }
    // Invalid variables and values were reported, and would seem to be missing.
    let written = (variables?.mapping?.pairs ?? []).map { $0.value.sequence?.count }
    if isInvalid("expand", index) || written != manifest.expand.map({ $0.values.count }) { return }
    do throws(InvalidTemplate) {
      guard let template = try manifest.urlTemplate(), template.hasSignature, manifest.sign == nil, !isInvalid("sign", index)
      else { return }
      let advice = "add sign: {service: imgproxy, key-env: IMGPROXY_KEY, salt-env: IMGPROXY_SALT}"
      errors.add("'{signature}' has no effect without 'sign'; \(advice)", at: node, narrowedTo: "{signature}")
    } catch {
      report(error, template: node, variables: variables, of: manifest)
    }
  }

  /// Whether a key of a manifest was reported as invalid.
  private func isInvalid(_ name: String, _ index: Int) -> Bool {
    guard given["manifests[\(index)].\(name)"] == nil, let items = given["manifests"]?.sequence else { return false }
    return items.indices.contains(index) && items[index].mapping?[name] != nil
  }

  private func report(_ error: InvalidTemplate, template: YAMLNode, variables: YAMLNode?, of manifest: Job.Manifest) {
    let text = template.scalar?.text ?? ""
    /// Adds an error at the name of a variable.
    func add(_ message: String, atVariable name: String) {
      let key = variables?.mapping?.pairs.first { $0.key.scalar?.text == name }?.key
      errors.add(message, at: key ?? template)
    }
    switch error {
    case .unclosedBrace:
      let part = text.lastIndex(of: "{").map { String(text[$0...]) } ?? "{"
      errors.add("unclosed '{' in the template; write a placeholder as in {url}", at: template, narrowedTo: part)
    case .unopenedBrace:
      errors.add("a '}' without its '{' in the template; write %7D for a brace in a URL", at: template, narrowedTo: "}")
    case .unknownPlaceholder(let name):
      let names = ["url", "host", "path", "query", "url-encoded", "url-base64"] + manifest.expand.map(\.name)
      let advice =
        Suggestions.nearest(to: name, among: names).map { "did you mean {\($0)}?" }
        ?? "use \(JobValueType.alternatives(names.map { "{\($0)}" })), or add it to 'expand'"
      // It may come from an environment variable.
      let shown = text.contains("{\(name)}") ? "placeholder '{\(name)}'" : "placeholder"
      errors.add("unknown \(shown) in the template; \(advice)", at: template, narrowedTo: "{\(name)}")
    case .unusedVariable(let name): add("the template doesn't use '\(name)'; write {\(name)} into it", atVariable: name)
    case .reservedName(let name): add("'\(name)' is a part of the entry's URL; choose another name", atVariable: name)
    case .noValues(let name): add("'\(name)' has no values; write \(name): [320, 640]", atVariable: name)
    case .tooManyCombinations:
      let maximum = URLTemplate.maximumCombinations
      errors.add("'expand' makes more than \(maximum) URLs from each entry; remove values", at: variables ?? template)
    }
  }

  // MARK: Signatures

  /// Rejects keys of image services that can't be keys, and a salt for services without one.
  func checkSigning(_ index: Int) {
    let (manifest, path) = (job.manifests[index], "manifests[\(index)].sign")
    guard let sign = manifest.sign, let section = given[path], given["\(path).service"] != nil, let key = given["\(path).key-env"]
    else { return }
    let salt = given["\(path).salt-env"]
    if sign.service != .imgproxy {
      if let salt { errors.add("'salt-env' has no effect: only imgproxy has a salt", at: salt) }
    } else if salt == nil {
      if section.mapping?["salt-env"] == nil {
        errors.add("'imgproxy' requires a salt; add salt-env: IMGPROXY_SALT", atStartOf: section)
      }
      return
    }
    do throws(InvalidSigningKey) {
      _ = try manifest.urlSigner()
    } catch {
      let advice = "the value of this environment variable isn't hexadecimal; set it as imgproxy's"
      switch error {
      case .emptyKey: errors.add("the value of this environment variable is empty; set it to the secret", at: key)
      case .keyNotHexadecimal: errors.add("\(advice) IMGPROXY_KEY", at: key)
      case .saltNotHexadecimal: errors.add("\(advice) IMGPROXY_SALT", at: salt ?? key)
      }
    }
  }

  // MARK: Pages

  /// Rejects names that attributes can't have, and attributes of lists that aren't pages.
  func checkLazyAttributes(_ index: Int) {
    let (list, path) = (job.manifests[index].list, "manifests[\(index)].lazy-attributes")
    guard let node = given[path] else { return }
    if list.format != .page, list.lazyAttributes != PageRules.usualLazyAttributes {
      return reject(path, since: "the list isn't a page", chosenBy: "manifests[\(index)].format")
    }
    for (name, item) in zip(list.lazyAttributes, node.sequence ?? []) {
      if !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !"\"'>/=".utf8.contains($0) }) { continue }
      errors.add("\(errors.shown(name, of: item)) isn't the name of an attribute; write one such as data-src", at: item)
    }
  }
}
