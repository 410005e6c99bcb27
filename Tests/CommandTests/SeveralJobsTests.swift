import TestOrigin
import TestSupport
import Testing

/// Jobs that would overwrite reports of another job of the same run.
@Suite struct SeveralJobsTests {
  private func makeJobs(_ origin: Origin, _ keys: (String, String)) -> JobFolder {
    let job = JobFolder(urls: [origin.url("/no.jpg")])
    for (name, keys) in [("a", keys.0), ("b", keys.1)] {
      job.folder.write("version: 1\nname: \(name)\nmanifests: [{path: urls.txt}]\n\(keys)\n", to: "\(name).yaml")
    }
    job.folder.write("old", to: "out")
    return job
  }

  @Test(
    arguments: [
      ("report: [{json: out}]", "report: [{html: ./x/../out}]"),
      ("report: [{jsonl: out}]", "report: [{jsonl: out}]"),
      ("", "report: [{junit: '-'}]"),
    ]
  )
  func `two jobs that write the same file are rejected before anything is opened or fetched`(first: String, second: String)
    async throws
  {
    let origin = try makeImageOrigin()
    let job = makeJobs(origin, (first, second))
    let result = try await job.prewarm("run", "a.yaml", "b.yaml")
    #expect(result.status == 3 && result.output.isEmpty && origin.requests.isEmpty, "\(result.errorText)")
    expectGolden(result.errorText, for: "\(first), \(second)")
    // A check writes neither.
    #expect(try await job.prewarm("check", "a.yaml", "b.yaml").status == 2)
    #expect(job.folder.read("out") == Array("old".utf8))
  }

  @Test func `a report option applies to every job and to sources beside them`() async throws {
    let origin = try makeImageOrigin()
    let job = makeJobs(origin, ("", ""))
    for arguments in [["run", "a.yaml", "b.yaml"], ["run", "a.yaml", "a.yaml"], ["check", "urls.txt", "b.yaml"]] {
      let result = try await job.start(arguments + ["--report", "json=out"]).wait()
      #expect(result.status == 3, "\(result.errorText)")
      expectGolden(result.errorText)
    }
    #expect(origin.requests.isEmpty && job.folder.read("out") == Array("old".utf8))
  }

  @Test(
    arguments: [
      ("", ""), ("report: [{jsonl: '-'}]", "report: [{github: '-'}]"),
      ("report: [{json: /dev/null}]", "report: [{csv: /dev/null}]"),
    ]
  )
  func `standard output accepts text, annotations and rows of several jobs, and a device any format`(
    first: String,
    second: String
  ) async throws {
    let result = try await makeJobs(makeImageOrigin(), (first, second)).prewarm("run", "a.yaml", "b.yaml")
    #expect(result.status == 2, "\(result.errorText)")
  }
}
