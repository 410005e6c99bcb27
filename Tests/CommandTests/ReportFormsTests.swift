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

  @Test func `annotations name files of the repository: manifests, or the job file for inline URLs`() async throws {
    let summary = folder.file("summary.md")
    for environment in [[:], ["GITHUB_WORKSPACE": folder.file("repository"), "GITHUB_STEP_SUMMARY": summary]]
      as [[String: String?]]
    {
      let result = try await run(["github=-", "markdown=report.md"], environment: environment)
      #expect(result.status == 2)
      // Piped entries are in no file.
      expectGolden(result.outputText.timeless.lines(with: "::error "))
    }
    #expect(folder.read("summary.md") == folder.read("repository/report.md"))
  }

  @Test func `files outside the repository aren't named`() async throws {
    let result = try await run(["github=-"], environment: ["GITHUB_WORKSPACE": folder.file("elsewhere")])
    #expect(result.status == 2 && !result.outputText.contains("file="))
  }
}
