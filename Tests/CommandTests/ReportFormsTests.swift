import Foundation
import TestSupport
import Testing

/// Properties of the machine and repository in reports.
@Suite struct ReportFormsTests {
  /// A port without a listener.
  private static let url = "http://127.0.0.1:1"
  private static let job = """
    version: 1
    name: shop
    manifests:
      - path: ../urls/*.txt
      - urls:
          - \(url)/inline.png
      - path: "-"
    request: {retries: 0}
    cache: {mode: bypass}
    """
  private let folder = TemporaryDirectory()

  /// Runs the job in `repository/jobs` from the folder of the repository.
  private func run(_ reports: [String], environment: [String: String?] = [:]) async throws -> Command.Result {
    folder.write(Self.job, to: "repository/jobs/shop.yaml")
    folder.write("# images\n\(Self.url)/a.png\nnot a url\n", to: "repository/urls/list.txt")
    let none: [String: String?] = ["GITHUB_WORKSPACE": nil, "GITHUB_STEP_SUMMARY": nil, "CI_PROJECT_DIR": nil]
    return try await Command(
      BuiltCommand.path,
      ["run", "jobs/shop.yaml"] + reports.flatMap { ["--report", $0] },
      environment: none.merging(environment) { $1 },
      workingDirectory: folder.file("repository"),
      input: .bytes(Array("\(Self.url)/piped.png\n".utf8))
    ).wait()
  }

  /// File and line of an annotation, by the name of the image at the end of its message.
  private func places(_ output: String) -> [String: String] {
    var places: [String: String] = [:]
    for line in output.split(separator: "\n") where line.hasPrefix("::error ") && line.hasSuffix(".png") {
      let properties = line.dropFirst("::error ".count).prefix { $0 != ":" }.split(separator: ",")
      let name = line.split(separator: "/").last.map(String.init) ?? ""
      places[name] = properties.filter { !$0.hasPrefix("title=") }.joined(separator: " ")
    }
    return places
  }

  @Test func `annotations name files of the repository: manifests, or the job file for inline URLs`() async throws {
    let summary = folder.file("summary.md")
    for environment in [[:], ["GITHUB_WORKSPACE": folder.file("repository"), "GITHUB_STEP_SUMMARY": summary]]
      as [[String: String?]]
    {
      let result = try await run(["github=-", "markdown=report.md"], environment: environment)
      #expect(result.status == 2)
      let places = places(result.outputText)
      #expect(places["a.png"] == "file=urls/list.txt line=2")
      #expect(places["inline.png"] == "file=jobs/shop.yaml line=6")
      // Piped entries are in no file.
      #expect(places["piped.png"] == "")
      expectGolden(result.outputText.lines(with: "line=3"))
    }
    #expect(folder.read("summary.md") == folder.read("repository/report.md"))
  }

  @Test func `files outside the repository aren't named`() async throws {
    let result = try await run(["github=-"], environment: ["GITHUB_WORKSPACE": folder.file("elsewhere")])
    #expect(result.status == 2 && !result.outputText.contains("file="))
  }
}
