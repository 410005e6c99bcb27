import Foundation
import TestOrigin
import TestSupport

extension FaultRow {
  /// Invalid files and lines.
  static let input: [FaultRow] = [
    .input("invalid YAML", exit: 3, "job.yaml:3:1: while parsing") {
      $0.job.folder.write("version: 1\nname: [\n", to: "job.yaml")
    },
    .input("an unknown key", exit: 3, "manifests") {
      $0.job.folder.write("version: 1\nname: test\nmanifest: [{path: urls.txt}]\n", to: "job.yaml")
    },
    .input("an empty job", exit: 3, "job.yaml") { $0.job.folder.write("", to: "job.yaml") },
    .input("a missing job", exit: 3, "job.yaml") { unlink($0.job.folder.file("job.yaml")) },
    .input("a binary job", exit: 3, "job.yaml") { $0.job.folder.write(Array(0...255), to: "job.yaml") },
    .input("a YAML bomb", exit: 3, "job.yaml") { $0.job.folder.write(yamlBomb, to: "job.yaml") },
    .manifest("a missing manifest", exit: 3, "cannot") { unlink($0.job.folder.file("urls.txt")) },
    .manifest("a manifest that is a folder", exit: 3, "urls.txt") { scene in
      unlink(scene.job.folder.file("urls.txt"))
      mkdir(scene.job.folder.file("urls.txt"), 0o755)
    },
    .manifest("an empty manifest", exit: 2, "") { $0.job.folder.write("", to: "urls.txt") },
    .manifest("a truncated gzip manifest", exit: 1, "urls.txt.gz") { scene in
      scene.job.write(urls: (0..<5000).map { scene.origin.url("/missing-\($0).jpg") })
      _ = try await Command.run("/bin/gzip", [scene.job.folder.file("urls.txt")])
      let whole = scene.job.folder.read("urls.txt.gz") ?? []
      scene.job.folder.write(whole.dropLast(whole.count - 100), to: "urls.txt.gz")
      scene.options += ["--set", "manifests=[{path: urls.txt.gz}]"]
    },
    .manifest("a manifest of binary data", exit: 3, "binary") {
      $0.job.folder.write([0x00, 0x01, 0xfe, 0xff, 0x0a], to: "urls.txt")
    },
    FaultRow(
      part: "input",
      fault: "standard input without a final newline",
      outcome: "failed",
      kind: "invalid-url",
      exit: 2,
      says: "no scheme",
      arrange: { $0.options += ["--set", "manifests=[{path: '-'}]"] },
      run: { try await $0.start(input: .bytes(Array("\($0.stored[0])\nhtt".utf8))).wait() }
    ),
    .line("a line that isn't a URL", "not a url", says: "isn't a URL or a path"),
    .line("a URL without a host", "http://", says: "no host"),
    .line("another scheme", "ftp://127.0.0.1/a.jpg", says: "neither http nor https"),
    .line("a scheme that reads files", "file:///etc/passwd", says: "neither http nor https"),
    .line("an invalid port", "http://127.0.0.1:99999/a.jpg", says: "the port isn't a number"),
    .line("a host with a space", "http://exa mple/a.jpg", says: "words after the URL"),
    .line("a line of 1 MB", "http://127.0.0.1/" + String(repeating: "a", count: 1_000_000), says: "longer than 65536 bytes"),
    .line("control characters", "http://127.0.0.1/a\u{1}\u{1B}[31m.jpg", says: "words after the URL"),
    .input("invalid JSON Lines", exit: 2, "neither an object nor a string", outcome: "failed", kind: "invalid-url") {
      scene in
      scene.urls = []
      scene.job.folder.write("{\"url\": \n[1,2\n", to: "urls.jsonl")
      scene.options += ["--set", "manifests=[{path: urls.jsonl}]"]
    },
  ]

  /// A line of the manifest that can't be fetched.
  private static func line(_ fault: String, _ line: String, says: String) -> FaultRow {
    .input(fault, exit: 2, says, outcome: "failed", kind: "invalid-url") { $0.urls.append(line) }
  }

  /// A manifest that can't be read; nothing else is added to it.
  private static func manifest(
    _ fault: String,
    exit: Int,
    _ says: String,
    _ arrange: @escaping @Sendable (FaultScene) async throws -> Void
  ) -> FaultRow {
    .input(fault, exit: exit, says) { scene in
      scene.urls = []
      try await arrange(scene)
    }
  }

  /// Aliases of aliases: ten to the power of nine names.
  private static let yamlBomb =
    "version: 1\nname: bomb\na0: &a0 [x]\n"
    + (1...9).map { "a\($0): &a\($0) [\(Array(repeating: "*a\($0 - 1)", count: 10).joined(separator: ", "))]\n" }.joined()
    + "manifests: *a9\n"
}
