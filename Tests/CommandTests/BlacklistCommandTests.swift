import TestOrigin
import TestSupport
import Testing

/// `prewarm blacklist` over a cache that a run has filled.
@Suite struct BlacklistCommandTests {
  @Test func `blacklist entries can be listed, removed and cleared`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let urls = JobFolder.badPaths.map { origin.url($0) }
    let rows: [BlacklistRow] = try await job.prewarm("blacklist", "list", "--json").rows()
    #expect(Set(rows.map(\.url)) == Set(urls))
    #expect(rows.first { $0.url == urls[0] }.map { "\($0.kind) \($0.status ?? 0) \($0.count)" } == "http-status 404 1")
    #expect(rows.first { $0.url == urls[1] }?.kind == "not-an-image")
    #expect(rows.allSatisfy { $0.expiresAt != nil })
    let text = try await job.prewarm("blacklist", "list").outputText
    #expect(text.contains("http-status 404") && text.contains(urls[0]) && text.contains(urls[1]))

    let removed = try await job.prewarm("blacklist", "remove", urls[0])
    #expect(removed.status == 0 && removed.outputText == "removed \(urls[0])\n")
    let again = try await job.prewarm("blacklist", "remove", urls[0])
    #expect(again.status == 1)
    expectGolden(again.errorText)
    #expect(try await job.runJob().totals["blacklisted"] == 1)
    #expect(origin.count(of: "/gone.jpg") == 2 && origin.count(of: "/page.jpg") == 1)

    expectGolden(try await job.prewarm("blacklist", "clear").outputText)
    #expect(try await job.prewarm("blacklist", "clear", "--json").outputText == "{\"removed\":0}\n")
    #expect(try await job.prewarm("blacklist", "list").output.isEmpty)
    #expect(try await job.statistics().entries == 5)
  }
}

private struct BlacklistRow: Decodable {
  let url: String
  let kind: String
  let status: Int?
  let count: Int
  let expiresAt: String?
}
