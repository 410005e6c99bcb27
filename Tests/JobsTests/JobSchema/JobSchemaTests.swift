import Foundation
import TestSupport
import Testing
import Jobs

@Suite struct JobSchemaTests {
  private static let keys = JobKeys.all
  private static let environment = [
    "HOME": "/h", "IMAGES_PASSWORD": "secret", "N": "5", "WORD": "lifo", "IMGPROXY_KEY": "736563726574",
    "IMGPROXY_SALT": "68656c6c6f", "WEBHOOK_URL": "https://h/", "SLACK_URL": "https://h/", "TEAMS_URL": "https://h/",
    "HOOK_SECRET": "whsec_c2VjcmV0", "MAIL_PASSWORD": "secret",
  ]

  @Test func `every example and the list of keys match the schema`() async throws {
    let folders = ["jobs", "scripts/recipes"].map { "\(repository)/\($0)" }
    var documents = [JobKeys.reference()]
    for folder in folders where FileManager.default.fileExists(atPath: folder) {
      for file in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() where file.hasSuffix(".yaml") {
        let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
        if text.contains("\nversion: 1\n") { documents.append(text) }
      }
    }
    let guides = "Sources/prewarm/Documentation.docc"
    let pages = try FileManager.default.contentsOfDirectory(atPath: "\(repository)/\(guides)").sorted().map { "\(guides)/\($0)" }
    for page in ["README.md"] + pages where page.hasSuffix(".md") {
      let text = try String(contentsOfFile: "\(repository)/\(page)", encoding: .utf8)
      documents += text.components(separatedBy: "```yaml\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        .filter { $0.contains("version: 1\n") && $0.contains("\nmanifests:") }
    }
    #expect(documents.count > 12)
    for (document, verdict) in zip(documents, try await schemaVerdicts(on: documents)) {
      #expect(verdict == nil, "\(document.prefix(300))")
    }
  }

  @Test func `every default and every example is valid`() async throws {
    let written = Self.keys.flatMap { key in
      [key.defaultText, key.example].compactMap { $0 }.map { (key.path, job(with: key, $0)) }
    }
    #expect(written.count > 100)
    for ((path, document), verdict) in zip(written, try await schemaVerdicts(on: written.map(\.1))) {
      #expect(mistakes(in: document, environment: Self.environment) == [], "\(path)")
      #expect(verdict == nil, "\(path)")
    }
  }

  @Test func `the schema rejects an impossible value for each key`() async throws {
    let wrong = Self.keys.flatMap { key in
      ["~", Self.isList(key) ? "{a: 1}" : "[1]"].map { ("\(key.path) \($0)", job(with: key, $0)) }
        + [("beside \(key.path)", job(with: key, "\(key.defaultText ?? key.example ?? "{}"), no-such-key: 1"))]
        .filter { _ in key.path.contains(".") && key.defaultText ?? key.example != nil }
    }
    for ((what, document), verdict) in zip(wrong, try await schemaVerdicts(on: wrong.map(\.1))) {
      #expect(mistakes(in: document, environment: Self.environment) != [], "\(what)")
      #expect(verdict != nil, "\(what)")
    }
  }

  @Test func `required keys and entries are enforced`() async throws {
    let documents = [
      "name: a\nmanifests: [{path: a}]", "version: 1\nmanifests: [{path: a}]", "version: 1\nname: a",
      "version: 1\nname: a\nmanifests: []", "version: 1\nname: a\nmanifests: [{format: csv}]",
      "version: 1\nname: a\nmanifests: [{path: a, urls: []}]",
      shortestJob + "report: [{text: a, json: b}]", shortestJob + "report: [{}]",
      shortestJob + "request: {auth: {username: a}}", shortestJob + "cache: {key: {}}",
      shortestJob + "report: [{junit: {successes: true}}]",
      "[]", "a", "",
    ]
    for (document, verdict) in zip(documents, try await schemaVerdicts(on: documents)) {
      #expect(mistakes(in: document, environment: Self.environment) != [], "\(document)")
      #expect(verdict != nil, "\(document)")
    }
  }

  @Test func `the schema and the command agree on values`() async throws {
    let table = try SchemaValues.table.map { row in
      (row, job(with: try #require(JobKeys.key(at: row.key), "\(row.key)"), row.value))
    }
    #expect(table.count > 100)
    for ((row, document), verdict) in zip(table, try await schemaVerdicts(on: table.map(\.1))) {
      let found = mistakes(in: document, environment: Self.environment)
      #expect(found.isEmpty == (row.verdict == .good), "\(row.key): \(row.value): \(found)")
      #expect((verdict == nil) == (row.verdict != .bad), "\(row.key): \(row.value): \(verdict ?? "accepted")")
    }
  }

  private static func isList(_ key: JobKey) -> Bool {
    if case .entries = key.kind { return true }
    return key.form.synopsis.split(separator: " | ").contains { $0.hasPrefix("[") }
  }
}
