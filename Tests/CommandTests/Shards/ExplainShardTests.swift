import Foundation
import TestSupport
import Testing

/// `prewarm explain --shard`: the shard of a URL.
@Suite struct ExplainShardTests {
  private struct Explanation: Decodable, Equatable {
    struct Shard: Decodable, Equatable {
      let index, count: Int
      let by: String
      let own: Bool
    }
    struct Way: Decodable, Equatable { let next_run: String }

    let shard: Shard?
    let ways: [Way]
  }

  private let urls = (0..<24).map { "http://h\($0 % 6).example.com/images/\($0).jpg" }

  private func explain(_ job: JobFolder, _ arguments: String...) async throws -> Explanation {
    let result = try await job.start(["explain", "--json"] + arguments).wait()
    #expect(result.status == 0, "\(result.errorText)")
    return try JSONDecoder().decode(Explanation.self, from: Data(result.output))
  }

  @Test(arguments: ["url", "host"]) func `explain names the shard whose run would fetch the URL`(rule: String) async throws {
    let job = JobFolder(urls: urls, keys: "shard-by: \(rule)")
    var explained = 0
    for index in 1...3 {
      let listed = try await job.prewarm("run", "job.yaml", "--shard", "\(index)/3", "--dry-run").outputText
      for url in listed.split(separator: "\n").prefix(4) {
        let own = try await explain(job, String(url), "--job", "job.yaml", "--shard", "\(index)/3")
        #expect(own.shard == Explanation.Shard(index: index, count: 3, by: rule, own: true))
        #expect(own.ways.map(\.next_run) == ["fetch"])
        let other = try await explain(job, String(url), "--job", "job.yaml", "--shard", "\(index % 3 + 1)/3")
        #expect(other.shard == Explanation.Shard(index: index, count: 3, by: rule, own: false))
        #expect(other.ways.map(\.next_run) == ["other-shard"])
        explained += 1
      }
    }
    #expect(explained >= 4)
  }

  @Test func `the text has a line for the shard`() async throws {
    let job = JobFolder(urls: urls, keys: "shard-by: host\nrequest: {variants: {a: {Accept: a}, b: {Accept: b}}}")
    let shard = try #require(try await explain(job, urls[0], "--job", "job.yaml", "--shard", "1/2").shard)
    let (own, other) = ("\(shard.index)/2", "\(3 - shard.index)/2")
    let text = try await job.prewarm("explain", urls[0], "--job", "job.yaml", "--shard", own).outputText
    expectGolden(text, for: "shard")
    let left = try await job.prewarm("explain", urls[0], "--job", "job.yaml", "--shard", other).outputText
    expectGolden(left.lines(with: "\(own)"), for: "another shard")
    // A line for each variant.
    #expect(left.split(separator: "\n").count { $0 == "run now    leaves it to shard \(shard.index) of 2" } == 2)
  }

  @Test func `without the option no shard is mentioned`() async throws {
    let job = JobFolder(urls: urls, keys: "shard-by: host")
    #expect(try await explain(job, urls[0], "--job", "job.yaml").shard == nil)
    #expect(try await !job.prewarm("explain", urls[0]).outputText.contains("shard"))
  }

  @Test func `the scheduler's variables can choose the shard`() async throws {
    let job = JobFolder(urls: urls)
    let environment = job.environment.merging(["PARALLEL_SEQ": "2"]) { $1 }
    let shard = try await explain(job, urls[0], "--shard", "2/4").shard
    let command = try Command(
      BuiltCommand.path,
      ["explain", "--json", "--shard", "auto/4", urls[0]],
      environment: environment,
      workingDirectory: job.folder.path
    )
    #expect(try JSONDecoder().decode(Explanation.self, from: Data(await command.wait().output)).shard == shard)
    let wrong = try await job.prewarm("explain", urls[0], "--shard", "5/4")
    #expect(wrong.status == 3, "\(wrong.errorText)")
    expectGolden(wrong.errorText)
  }
}
