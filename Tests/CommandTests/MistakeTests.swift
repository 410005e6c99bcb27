import TestOrigin
import TestSupport
import Testing

@Suite struct MistakeTests {
  @Test func `ten errors in a job are all located, and nothing is fetched`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder("")
    job.folder.write(
      """
      version: 2
      name: Home Page
      manifest: []
      manifests:
        - {path: urls.txt, priority: urgent}
        - {urls: ['\(origin.url("/images/1.jpg"))'], limit: many}
      prefetch: {order: sideways, concurrency: 0}
      request: {timeout: soon, rate: 3}
      cache: {max-size: 2 bananas}
      verify: {decode: header, decode: full}
      """,
      to: "job.yaml"
    )
    let result = try await job.prewarm("run", "job.yaml")
    #expect(result.status == 3)
    for place in ["1:10", "2:7", "3:1", "5:32", "6:", "7:19", "7:42", "8:20", "8:26", "9:19", "10:26"] {
      #expect(result.errorText.contains("job.yaml:\(place)"), "no mistake at \(place) in:\n\(result.errorText)")
    }
    expectGolden(result.errorText)
    #expect(origin.requests.isEmpty)
    #expect(try await job.prewarm("validate", "job.yaml").status == 3)
  }

  @Test(
    arguments: [
      ["run"], ["run", "job.yaml", "--order"], ["fetch"], ["run", "job.yaml", "--unknown"], ["run", "missing.yaml"],
      ["run", "job.yaml", "--set", "nothing"], ["run", "job.yaml", "--set", "prefetch.ordr=lifo"],
      ["run", "job.yaml", "--report", "json"], ["run", "job.yaml", "--concurrency", "none"], ["cache"], [],
    ]
  )
  func `an invalid command line exits with 3`(arguments: [String]) async throws {
    let job = JobFolder(urls: [])
    let result = try await job.start(arguments).wait()
    #expect(result.status == 3, "\(result.outputText)\(result.errorText)")
    #expect(!result.errorText.isEmpty)
  }

  @Test(
    arguments: [
      ["chekc", "urls.txt"], ["cache", "lst"], ["report", "shwo"], ["job.yaml"], ["https://h.example/1.jpg"], ["frobnicate"],
      ["report", "shwo"],
    ]
  )
  func `an unknown command gets a suggestion`(arguments: [String]) async throws {
    let result = try await JobFolder(urls: []).start(arguments).wait()
    #expect(result.status == 3 && result.output.isEmpty)
    expectGolden(result.errorText, for: arguments.joined(separator: " "))
  }

  @Test(
    arguments: [
      ["--report", "xml=out.xml"], ["--report", "jsn=a"], ["--report", "pdf=a"], ["-o", "report.pdf"], ["-o", "-"],
    ]
  )
  func `an unknown report format gets a suggestion`(options: [String]) async throws {
    let result = try await JobFolder(urls: []).start(["run", "job.yaml"] + options).wait()
    #expect(result.status == 3)
    expectGolden(result.errorText, for: options.joined(separator: " "))
  }

  @Test(
    arguments: [["--help"], ["--version"], ["run", "--help"], ["cache", "--help"], ["validate", "--list-keys"]]
  )
  func `help goes to standard output and exits with 0`(arguments: [String]) async throws {
    let result = try await JobFolder("").start(arguments).wait()
    #expect(result.status == 0 && !result.output.isEmpty && result.error.isEmpty)
  }

  @Test func `an unwritable report exits with 1 before the first request`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<3))
    job.folder.write("", to: "file")
    let result = try await job.prewarm("run", "job.yaml", "--report", "json=file/report.json")
    #expect(result.status == 1 && result.errorText.contains("file/report.json"))
    #expect(origin.requests.isEmpty)
  }

  @Test func `a report on a full device exits with 1`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<3))
    let result = try await job.prewarm("run", "job.yaml", "--report", "jsonl=/dev/full")
    #expect(result.status == 1 && result.errorText.contains("/dev/full"))
  }

  @Test func `a folder that isn't a prewarm cache is rejected with a message`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<3))
    job.folder.write("99\n", to: "cache/default/VERSION")
    let result = try await job.prewarm("run", "job.yaml")
    #expect(result.status == 1 && result.errorText.contains("VERSION") || result.errorText.contains("version"))
    #expect(origin.requests.isEmpty)
  }
}
