import ImageDownloading
import Lists
import Reports
import Testing

@testable import Jobs

/// The differences and common properties of shards' jobs.
@Suite struct ShardedJobTests {
  private let rates =
    "prefetch: {rate: 100/s, per-host-rate: 10/s}\nhosts: {a: {per-host-rate: 20/s}, b: {per-host-rate: none}}\n"

  @Test func `sharding by URL divides all rates`() throws {
    let shard = try job(shortestJob + rates).sharded(ShardNumber(index: 2, count: 5))
    #expect(shard.prefetch.limits.rate == 20 && shard.prefetch.limits.perHostRate == 2)
    #expect(shard.shard == Shard(index: 2, count: 5, by: .url))
    #expect(shard.hosts.map(\.limits.perHostRate) == [4, .infinity])
  }

  @Test func `sharding by host gives a host's rate to its shard`() throws {
    let shard = try job(shortestJob + rates + "shard-by: host\n").sharded(ShardNumber(index: 2, count: 5))
    #expect(shard.prefetch.limits.rate == 20 && shard.prefetch.limits.perHostRate == 10)
    #expect(shard.hosts.map(\.limits.perHostRate) == [20, .infinity])
    #expect(shard.shard == Shard(index: 2, count: 5, by: .host) && shard.identity.title == "homepage, shard 2 of 5")
  }

  @Test(arguments: [(1, 100.0, 10.0), (2, 50, 5), (5, 20, 2), (16, 20, 2)])
  func `rates are divided by the shards that run at once`(count: Int, rate: Double, perHostRate: Double) throws {
    let job = try job(shortestJob + rates)
    let byURL = job.sharded(ShardNumber(index: 2, count: 5), atOnce: count).prefetch.limits
    #expect(byURL.rate == rate && byURL.perHostRate == perHostRate)
    let byHost = job.sharded(ShardNumber(index: 2, count: 5), by: .host, atOnce: count).prefetch.limits
    #expect(byHost.rate == rate && byHost.perHostRate == 10)
  }

  @Test func `the shards of one job share a digest`() throws {
    let whole = try job(shortestJob)
    #expect(whole.digest.count == 32 && whole.sharded(ShardNumber(index: 1, count: 2)).digest == whole.digest)
    // Differences that are allowed between machines.
    for same in [
      "cache: {directory: /elsewhere}\n", "prefetch: {rate: 1/s}\n", "report: [{json: a.json}]\n", "description: other\n",
      "request: {headers: {Authorization: secret}, timeout: 5s}\n", "hosts: {}\n",
    ] {
      #expect(try job(shortestJob + same).digest == whole.digest, "\(same)")
    }
    #expect(
      try job(shortestJob.replacing("a.txt", with: "/home/a/a.txt")).digest
        == job(shortestJob.replacing("a.txt", with: "/mnt/a.txt")).digest
    )
    let others = [
      "shard-by: host\n", "verify: {decode: full}\n", "verify: {width: {min: 2}}\n", "verify: {formats: [jpeg]}\n",
      "fail-on: {failures: 1}\n", "fail-on: {failures: 1%}\n", "fail-on: {kinds: {dns: 1}}\n", "fail-on: {latency: {p99: 2s}}\n",
      "fail-on: {empty: false}\n", "request: {method: head}\n", "request: {variants: {a: {Accept: b}}}\n",
      "request: {edges: {a: \"b:80\"}}\n", "request: {accept-status: [200, 404]}\n",
      "request: {robots: respect}\n", "request: {addresses: public}\n", "cache: {mode: only}\n",
      "hosts: {a: {}}\n", "hosts: {a: {severity: warn}}\n", "hosts: {b: {}}\n",
      "cache: {key: url-without-query}\n", "cache: {key: {drop-query: [a]}}\n",
    ].map { shortestJob + $0 }
    let manifests = [
      "path: b.txt", "path: a.txt, limit: 3", "path: a.txt, include: [a]", "path: a.txt, exclude: [a]",
      "path: a.txt, base-url: \"https://a.example/\"", "path: a.txt, format: csv", "path: a.txt, priority: high", "urls: [a]",
      "path: \"-\"", "url: \"https://a.example/\"", "path: a.txt, columns: {url: a}", "path: a.txt, newer-than: 1d",
    ].map { shortestJob.replacing("path: a.txt", with: $0) }
    let digests = try (others + manifests).map { try job($0).digest }
    #expect(Set(digests + [whole.digest]).count == digests.count + 1)
  }

  @Test func `names and severities of hosts are in the digest, in any order`() throws {
    func digest(_ hosts: String) throws -> String { try job(shortestJob + "hosts: {\(hosts)}\n").digest }
    #expect(try digest("a: {}, b: {severity: warn}") == digest("B: {severity: warn}, a: {headers: {X-Token: b}, per-host: 1}"))
  }

  @Test func `the digest contains no secret`() throws {
    func digest(_ password: String) throws -> String {
      try job(shortestJob.replacing("path: a.txt", with: "urls: [\"https://user:\(password)@a.example/b.jpg\"]")).digest
    }
    #expect(try digest("one") == digest("two"))
  }
}
