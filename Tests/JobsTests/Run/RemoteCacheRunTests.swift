import ImageManaging
import Base
import Reports
import TestOrigin
import TestSupport
import Testing
import Jobs

/// Whole jobs that check caches between prewarm and the server, one of them real.
@Suite struct RemoteCacheRunTests {
  private let runs = JobRuns()

  /// nginx as a cache before `origin`, which stores images requested at least `minimumUses` times.
  private func cache(before origin: Origin, minimumUses: Int) async throws -> Nginx {
    try await Nginx(
      serving: runs.folder.path,
      directives: """
        location / {
          proxy_pass \(origin.base);
          proxy_cache images;
          proxy_cache_valid 200 1h;
          proxy_cache_min_uses \(minimumUses);
          add_header X-Cache-Status $upstream_cache_status always;
        }
        """,
      httpDirectives: "proxy_cache_path cache keys_zone=images:1m;"
    )
  }

  private func origin() throws -> Origin {
    let origin = try Origin()
    origin.setFallback { .body(SampleImages.jpeg(Int($0.path.dropFirst()) ?? 0), type: "image/jpeg") }
    return origin
  }

  @Test func `a caching proxy misses on the first run and hits later, by its own header and the origin's count`() async throws {
    let origin = try origin()
    let nginx = try await cache(before: origin, minimumUses: 3)
    var job = try runs.job(urls: (0..<10).map { nginx.url("/\($0)") })
    job.remoteCache = .report
    job.cache.mode = .bypass
    let (first, rows, json) = try runs.run(job)
    #expect(first.totals.checked == 10 && rows.map(\.remoteCache) == Array(repeating: "miss", count: 10))
    #expect(first.remoteCaches.map { [$0.hits, $0.misses, $0.unknown] } == [[0, 10, 0]])
    #expect((json["hosts"] as? [[String: any Sendable]])?.first?["remote_cache"] as? [String: Int] == ["hit": 0, "miss": 10])
    #expect(origin.requests.count == 20)
    let (second, secondRows, _) = try runs.run(job)
    #expect(secondRows.map(\.remoteCache) == Array(repeating: "hit", count: 10))
    #expect(second.remoteCaches.map { [$0.hits, $0.misses, $0.unknown] } == [[10, 0, 0]])
    // The third request of each was the first of the second run; the fourth was the proxy's own.
    #expect(origin.requests.count == 30)
  }

  @Test func `if a hit is required, an image that the proxy lacks fails and isn't stored, and others are`() async throws {
    let origin = try origin()
    let nginx = try await cache(before: origin, minimumUses: 3)
    var job = try runs.job(urls: [nginx.url("/1"), nginx.url("/2")])
    job.remoteCache = .hit
    let (first, rows, json) = try runs.run(job)
    #expect(first.totals.failed == 2 && first.exitStatus == .beyondLimits && first.end.blacklist?.entries == 0)
    #expect(rows.allSatisfy { $0.kind == "remote-cache" && $0.remoteCache == "miss" })
    #expect(rows.first?.message?.contains("X-Cache-Status: MISS") == true)
    #expect((json["failures"] as? [[String: any Sendable]])?.first?["remote_cache"] as? String == "miss")
    #expect(first.end.cache?.entries == 0)
    #expect(try runs.run(job).report.totals.downloaded == 2)
    let (third, thirdRows, _) = try runs.run(job)
    #expect(third.totals.hitDisk == 2 && third.remoteCaches.isEmpty && thirdRows.allSatisfy { $0.remoteCache == nil })
    #expect(nginx.requestCount >= 8)
  }
}
