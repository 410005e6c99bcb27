import Foundation
import TestSupport
import Jobs

/// A validator's verdicts on documents by the schema: nil for a valid one, else its first error.
///
/// One Python process judges all of them; its jsonschema is an independent implementation.
func schemaVerdicts(on documents: [String]) async throws -> [String?] {
  let question = try JSONSerialization.data(withJSONObject: ["schema": JobKeys.schema(), "documents": documents])
  let result = try await Command("\(repository)/Tests/Validators/job-schema", input: .bytes(Array(question))).wait()
  guard result.status == 0, let verdicts = try JSONSerialization.jsonObject(with: Data(result.output)) as? [Any] else {
    throw ValidatorFailure(description: result.errorText)
  }
  return verdicts.map { $0 as? String }
}

struct ValidatorFailure: Error, CustomStringConvertible {
  let description: String
}

/// A short job in which `key` has `value`, with the other keys that it requires.
func job(with key: JobKey, _ value: String) -> String {
  let parts = key.path.split(separator: ".").map(String.init)
  var text = "\(key.name): \(value)"
  for depth in parts.indices.dropLast().reversed() {
    let section = parts[...depth].joined(separator: ".")
    let name = parts[depth].replacing("[]", with: "")
    let isItem = parts[depth].hasSuffix("[]")
    let inner = text.prefix { $0 != ":" }
    var beside = JobKeys.all.filter { sibling in
      sibling.isRequired && sibling.path == "\(section).\(sibling.name)" && sibling.name != inner
    }.map { "\($0.name): \($0.example ?? "")" }
    if section == "manifests[]", !["path", "url", "urls", "page"].contains(inner) { beside.append("path: a.txt") }
    if section == "transform.resize", inner == "fit" { beside.append("width: 10") }
    if section == "manifests[].sign", inner != "salt-env" { beside.append("salt-env: IMGPROXY_SALT") }
    if section == "notify[]", !["webhook", "slack", "teams", "email"].contains(inner) {
      beside.append("slack: {url-env: SLACK_URL}")
    }
    if section == "notify[].webhook", inner.hasPrefix("secret") { beside.append("url: https://hooks.example.com/prewarm") }
    if section == "notify[].email", inner == "username" { beside.append("password-env: MAIL_PASSWORD") }
    if section == "notify[].email", inner.hasPrefix("password") { beside.append("username: prewarm") }
    let body = "{\((beside + [text]).joined(separator: ", "))}"
    let isNamed = if case .named = JobKeys.key(at: name)?.kind { true } else { false }
    text = "\(name): \(isNamed ? "{img.example.com: \(body)}" : isItem ? "[\(body)]" : body)"
  }
  let top = text.prefix { $0 != ":" }
  let head = ["version: 1", "name: homepage", "manifests: [{path: a.txt}]"].filter { !$0.hasPrefix("\(top):") }
  return (head + [text]).joined(separator: "\n") + "\n"
}
