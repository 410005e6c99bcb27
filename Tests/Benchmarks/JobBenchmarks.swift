import Jobs

enum JobBenchmarks {
  static var all: [Benchmark] {
    [
      Benchmark(name: "job-file", operations: 20) { _ in
        let text = Array(job.utf8)
        return {
          for _ in 0..<20 { keep(try JobFile.parse(text, path: "/srv/jobs/nightly.yaml", environment: ["HOME": "/root"])) }
        }
      }
    ]
  }

  private static let job = """
    # What is linked to from the shop.
    version: 1
    name: nightly
    description: Everything the shop links to

    manifests:
      - path: urls/hero.txt
        priority: high
      - path: urls/catalog.csv
        columns: {url: image, priority: rank}
        base-url: https://img.example.com/
        include: ["*.jpg", "*.webp"]
      - urls:
          - https://img.example.com/one.jpg
          - https://img.example.com/two.jpg

    prefetch:
      order: lifo
      concurrency: 16
      per-host: 4
      deadline: 4h

    request:
      headers: {Accept-Language: en, X-Requested-By: prewarm}
      retries: 4
      backoff: {initial: 1s, maximum: 1m}

    cache:
      directory: /var/cache/prewarm
      max-age: 3d
      max-size: 50GiB
      expire-by: access

    verify:
      decode: header

    blacklist:
      ttl: 1d

    report:
      - text: "-"
      - json: reports/nightly.json

    fail-on:
      failures: 1%
      kinds: {not-an-image: 0}
      latency: {p99: 5s}

    """
}
