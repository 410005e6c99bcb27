import Foundation
import Testing
@testable import Jobs

@Suite struct JobKeysTests {
  /// Every key with its default, kept apart from the description of the keys, for comparison.
  static let contract = """
    version: 1
    name: homepage
    description: ""
    manifests:
      - path: urls/hero.txt
        format: auto
        priority: normal
        base-url: none
        template: none
        expand: {}
        sign: none
        columns: {url: url, priority: priority, id: id, sha256: sha256, width: width, height: height, bytes: bytes}
        include: []
        exclude: []
        limit: none
      - urls: []
      - url: https://www.example.com/sitemap.xml
        newer-than: none
        sitemap-priority: false
        sitemap-lastmod: false
        pages: true
      - page: https://www.example.com/
        crawl: {depth: 0, pages: auto, same-site: true, include: [], exclude: []}
        lazy-attributes: [data-src, data-lazy-src, data-original, data-srcset, data-lazy-srcset, data-bg, data-background, data-background-image, data-bgset]
    prefetch:
      order: fifo
      concurrency: 32
      per-host: 8
      rate: none
      per-host-rate: none
      adaptive: true
      threads: auto
      deadline: none
    request:
      method: get
      headers: {}
      accept: "image/avif,image/webp,image/jxl,image/heic,image/svg+xml,image/*;q=0.8"
      variants: {}
      user-agent: prewarm/VERSION
      timeout: 60s
      connect-timeout: 10s
      stall-timeout: 15s
      retries: 2
      backoff: {initial: 500ms, maximum: 30s}
      retry-after-max: 2m
      recheck: off
      redirects: 10
      accept-status: [200]
      max-bytes: 64MiB
      http: auto
      connect-to: []
      edges: {}
      proxy: none
      auth: none
      cookies: false
      robots: ignore
      tls: {verify: true, ca-file: none, client-certificate: none, client-key: none}
      addresses: any
    hosts:
      img.example.com: {per-host: 4, per-host-rate: 20/s, headers: {}, auth: none, severity: fail}
    cache:
      directory: default
      namespace: default
      mode: use
      freshness: age
      max-age: 7d
      min-fresh: 0s
      max-size: none
      trim-to: 50%
      expire-by: modification
      memory: off
      read-only: []
      key: url
      share-across-credentials: false
      verify-hits: false
    verify:
      decode: header
      strict: false
      content-type: match
      formats: any
      width: {min: 1, max: none}
      height: {min: 1, max: none}
      max-pixels: 100MP
      bytes: {min: 1, max: none}
      animated: allow
      placeholders: report
      remote-cache: ignore
    transform: none
    blacklist:
      enabled: true
      retry: false
      ttl: 6h
      statuses: [400, 404-406, 410-415, 417, 422, 451]
    report: [{text: "-"}]
    shard-by: url
    notify: []
    lint:
      all: "off"
      cache-control: all
      no-validator: all
      vary-missing: all
      redirect: all
      insecure: all
      oversized: all
      metadata: all
      gif-video: all
      duplicate: all
      certificate: all
      markup: all
      min-age: 24h
      expires-within: 14d
    fail-on:
      failures: 0
      known: 10%
      temporary: 1 run
      empty: true
      unfinished: true
      evicted: true
      kinds: {}
      lint: {}
      latency: {}
      baseline: none
    """

  @Test func `every documented key is listed with its default`() throws {
    let document = try YAMLDocument(parsing: Array(Self.contract.utf8), name: "contract")
    var found: Set<String> = []
    try compare(document.root, path: "", found: &found)
    // Keys below a word that is the default are on the word's own line of the list.
    let hidden = [
      "report[]", "notify[]", "cache.memory.", "cache.key.", "request.auth.", "transform.", "manifests[].sign.", "hosts[].auth.",
    ]
    let described = Set(JobKeys.all.map(\.path)).filter { path in !hidden.contains { path.hasPrefix($0) } }
    #expect(found == described)
  }

  @Test func `each key is described once, in one sentence`() {
    #expect(Set(JobKeys.all.map(\.path)).count == JobKeys.all.count)
    for key in JobKeys.all {
      #expect((1...70).contains(key.summary.count) && !key.summary.hasSuffix("."), "\(key.path)")
    }
  }

  @Test func `the list of keys is a valid job`() throws {
    let reference = JobKeys.reference()
    #expect(mistakes(in: reference) == [])
    let lines = reference.split(separator: "\n")
    #expect(lines.allSatisfy { $0.count <= 120 })
    for key in JobKeys.all {
      if case .section = key.kind { continue }
      #expect(lines.contains { $0.contains("\(key.name):") }, "\(key.path)")
    }
    #expect(reference.contains("prefetch:                           # the order and the rate of requests\n  order: fifo"))
  }

  @Test func `the advanced part of the list of keys is valid as a job, too`() throws {
    let parts = JobKeys.reference().components(
      separatedBy: "\n# Advanced keys, which few jobs need; copy them into the sections above.\n#\n"
    )
    try #require(parts.count == 2)
    let keys = parts[1].split(separator: "\n").map { $0.dropFirst(2) }
    #expect(mistakes(in: "version: 1\nname: advanced\n" + keys.joined(separator: "\n")) == [])
    for key in JobKeys.all where key.isAdvanced {
      if case .section = key.kind { continue }
      #expect(
        keys.contains { $0.contains("\(key.name):") } || key.path.hasPrefix("cache.memory.") || key.path.hasPrefix("cache.key.")
      )
    }
    #expect(!parts[0].contains("retry-after-max:") && keys.contains { $0.hasPrefix("  retry-after-max: 2m ") })
  }

  @Test func `keys below an advanced key are advanced`() {
    for key in JobKeys.all where key.isAdvanced {
      #expect(JobKeys.all.allSatisfy { !$0.path.hasPrefix("\(key.path).") || $0.isAdvanced }, "\(key.path)")
    }
  }

  @Test func `the examples are valid jobs`() throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: "\(repository)/jobs").filter { $0.hasSuffix(".yaml") }
    #expect(files.count > 5)
    for file in files {
      let job = try JobFile.load(path: "\(repository)/jobs/\(file)", environment: ["HOME": "/h"])
      #expect("\(job.name).yaml" == file)
    }
  }

  private func compare(_ node: YAMLNode, path: String, found: inout Set<String>) throws {
    for pair in node.mapping?.pairs ?? [] {
      let name = try #require(pair.key.scalar?.text)
      let key = try #require(JobKeys.key(at: path.isEmpty ? name : "\(path).\(name)"), "\(path).\(name)")
      found.insert(key.path)
      if let text = key.defaultText {
        let described = try YAMLDocument(parsing: Array(text.utf8), name: "default").root
        #expect(described.hasSameContent(as: pair.value), "\(key.path)")
      } else if case .section = key.kind {
        try compare(pair.value, path: key.path, found: &found)
      } else if case .named = key.kind {
        for named in pair.value.mapping?.pairs ?? [] { try compare(named.value, path: key.path + "[]", found: &found) }
      } else if let items = pair.value.sequence {
        for item in items { try compare(item, path: key.path + "[]", found: &found) }
      } else {
        #expect(key.example == pair.value.scalar?.text, "\(key.path)")
      }
    }
  }
}
