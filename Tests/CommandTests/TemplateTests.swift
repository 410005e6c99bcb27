import TestOrigin
import TestSupport
import Testing

/// URLs that a template makes, requested.
@Suite struct TemplateTests {
  @Test func `images are held against what their URL asks for`() async throws {
    let origin = try makeImageOrigin()
    // 32 pixels wide, whatever is asked for.
    for folder in ["32/jpg", "64/jpg", "auto/jpg", "32/webp"] {
      origin.set("/\(folder)/images/1.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg"))
    }
    let job = JobFolder(
      """
      manifests:
        - path: list.csv
          template: "/{w}/{fm}/{path}"
          base-url: \(origin.url("/"))
          expand: {w: [32, 64, auto], fm: [jpg, webp]}
          exclude: ["/64/webp/**", "/auto/webp/**"]
      """
    )
    // The width and the size are those of the original.
    job.folder.write("url,width,bytes\n/images/1.jpg,1000,1\n", to: "list.csv")
    let run = try await job.runJob()
    #expect(run.status == 2 && run.failuresByKind == ["expectation": 2])
    let kinds = Dictionary(uniqueKeysWithValues: run.rows.map { ($0.url, $0.kind ?? $0.outcome) })
    let expected = [
      "/32/jpg": "downloaded", "/64/jpg": "expectation", "/auto/jpg": "downloaded", "/32/webp": "expectation",
      "/64/webp": "skipped", "/auto/webp": "skipped",
    ]
    #expect(kinds == Dictionary(uniqueKeysWithValues: expected.map { (origin.url("\($0)/images/1.jpg"), $1) }))
  }

  @Test func `signed URLs are requested, and the key is shown nowhere`() async throws {
    let origin = try makeImageOrigin()
    let (path, signed) = ("300x200/my.server.com/some/path/to/image.jpg", "/8ammJH8D-7tXy6kU3lTvoXlhu4o=/")
    origin.set(signed + path, .body(SampleImages.jpeg(1), type: "image/jpeg"))
    let urls = [origin.url("/unsafe/\(path)"), origin.url("/1/\(path)")].joined(separator: "', '")
    let job = JobFolder("manifests: [{urls: ['\(urls)'], sign: {service: thumbor, key-env: KEY}}]")
    let command = try Command(
      BuiltCommand.path,
      [
        "run", "job.yaml", "--verbose", "--report", "json=report.json", "--report", "jsonl=rows.jsonl", "--report",
        "html=report.html",
      ],
      environment: job.environment.merging(["KEY": "my-security-key"]) { $1 },
      workingDirectory: job.folder.path
    )
    let run = try job.finishedRun(try await command.wait())
    #expect(run.status == 2 && run.rows.map(\.outcome).sorted() == ["downloaded", "failed"])
    #expect(origin.requests.contains { $0.path == signed + path })
    let written = ["report.json", "rows.jsonl", "report.html"].map { readFile(job.folder.file($0)) ?? [] }
    for text in written.map({ String(decoding: $0, as: UTF8.self) }) + [run.result.outputText, run.result.errorText] {
      #expect(!text.isEmpty && !text.contains("my-security-key"))
    }
  }
}
