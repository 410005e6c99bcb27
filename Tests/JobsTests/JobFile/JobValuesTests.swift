import Foundation
import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import Base
import Lists
import Reports
import TestSupport
import Testing
@testable import Jobs

@Suite struct JobValuesTests {
  @Test func `every network key reaches the job`() throws {
    let job = try job(
      """
      version: 1
      name: far
      manifests:
        - {url: 'https://www.Example.com/sitemap.xml', format: sitemap, newer-than: 7d, sitemap-priority: true}
        - {path: access.log, format: combined, limit: 10000}
        - {url: 'https://www.example.com/pages.xml', pages: true, crawl: {depth: 1, pages: 10}}
        - {path: products.xml, format: feed}
      prefetch: {rate: 200/s, per-host-rate: 90/m, adaptive: false}
      request:
        variants: {webp: {Accept: image/webp, Width: "400"}, plain: {}}
        retry-after-max: 5m
        http: 2
        connect-to: ["IMG.example.com:443:10.0.0.7:8443", "::[::1]:"]
        edges: {}
        proxy: socks5h://me:${SECRET}@proxy.example.com:1080
        auth: {username: me, password-env: SECRET}
        cookies: true
        robots: respect
        tls: {verify: true, ca-file: ca.pem, client-certificate: /c.pem, client-key: k.pem}
        addresses: any
      verify: {remote-cache: hit}
      """,
      environment: ["HOME": "/home/user", "SECRET": "s3cret"]
    )
    guard case .url(let url) = job.manifests[0].list.source else { throw UnexpectedSource() }
    #expect(String(decoding: url.bytes, as: UTF8.self) == "https://www.example.com/sitemap.xml")
    #expect(job.manifests[0].list.format == .sitemap)
    #expect(job.manifests[0].newerThan == .seconds(7 * 86_400))
    #expect(job.manifests[0].list.usesSitemapPriority)
    #expect(job.manifests[1].list.format == .combined)
    #expect(job.manifests[2].list.readsPages && job.manifests[2].list.crawl.depth == 1 && !job.manifests[0].list.readsPages)
    #expect(job.manifests[3].list.format == .feed)
    #expect((job.prefetch.limits.rate, job.prefetch.limits.perHostRate) == (200, 1.5))
    #expect(!job.prefetch.limits.isAdaptive)
    #expect(
      job.request.variants == [
        Job.Request.Variant(name: "webp", headers: [.init("Accept", "image/webp"), .init("Width", "400")]),
        Job.Request.Variant(name: "plain", headers: []),
      ]
    )
    #expect(job.request.download.retryAfterMaximum == .seconds(300))
    #expect(job.request.download.connection.httpVersion == .http2)
    #expect(
      job.request.download.connection.connectTo == [
        DownloadOptions.ConnectTarget(host: "img.example.com", port: 443, targetHost: "10.0.0.7", targetPort: 8443),
        DownloadOptions.ConnectTarget(host: nil, port: nil, targetHost: "[::1]", targetPort: nil),
      ]
    )
    #expect(job.request.download.connection.proxy == .url("socks5h://me:s3cret@proxy.example.com:1080"))
    #expect(job.request.auth == Credential(user: "me", password: "s3cret"))
    #expect(job.request.download.handlesCookies)
    #expect(job.request.download.respectsRobots)
    #expect(job.request.tls.caFile?.absolute == "/srv/jobs/ca.pem")
    #expect(job.request.tls.clientCertificate?.absolute == "/c.pem")
    #expect(job.request.tls.clientKey?.absolute == "/srv/jobs/k.pem")
    #expect(job.request.download.connection.addresses == .any)
    #expect(job.remoteCache == .hit)
  }

  @Test func `edges keep their order`() throws {
    let text = shortestJob + "request: {edges: {b: 'Edge.example.com:443', a: '[2001:DB8::1]:8443'}, addresses: public}\n"
    let request = try job(text).request
    #expect(
      request.edges == [
        Job.Request.Edge(name: "b", host: "edge.example.com", port: 443),
        Job.Request.Edge(name: "a", host: "[2001:db8::1]", port: 8443),
      ]
    )
    #expect(request.download.connection.addresses == .publicOnly)
  }

  @Test func `every key reaches the job`() throws {
    let job = try job(
      """
      version: 1
      name: home-2
      description: all of it
      manifests:
        - path: urls/*.csv
          format: csv
          priority: very-high
          base-url: https://IMG.example.com/
          columns: {url: image, priority: rank}
          include: ["*.jpg"]
          exclude: ["re:draft"]
          limit: 10
        - path: "-"
        - urls: [a.jpg,
                 b.jpg]
      prefetch: {order: lifo, concurrency: 64, per-host: 4, deadline: 1.5h}
      request:
        method: get
        headers: {X-Token: "a: b"}
        accept: image/png
        user-agent: me/1
        timeout: none
        connect-timeout: 3s
        stall-timeout: 250ms
        retries: 0
        backoff: {initial: 0s, maximum: 2m}
        redirects: 0
        accept-status: [200, 203-204]
        max-bytes: 1.5KiB
      cache:
        {directory: c, namespace: A.b_c-1, mode: only, max-age: none, max-size: 500MB, trim-to: 12.5%, expire-by: access,
         freshness: http, min-fresh: 90s, memory: {max-cost: 1MiB, max-count: 8}, read-only: [a/b, /c],
         key: {drop-query: [utm_source, "x[1]"]}, verify-hits: true}
      verify:
        decode: full
        content-type: exact
        formats: [jpeg, webp]
        width: {min: 2, max: 20}
        height: {max: 30}
        max-pixels: 2MP
        bytes: {min: 0, max: 2kB}
      transform: {resize: {width: 400, height: 300, fit: cover}, format: webp, quality: 70, keep-original: true}
      blacklist: {enabled: false, retry: true, ttl: none, statuses: [400-599]}
      report: [{json: r/a.json}, {jsonl: /r/a.jsonl}, {text: "-"}]
      fail-on: {failures: 0.5%, empty: false, unfinished: never, evicted: true}
      """
    )
    #expect(job.name == "home-2")
    #expect(job.description == "all of it")
    #expect(job.file == "/srv/jobs/homepage.yaml")

    let manifest = job.manifests[0].list
    guard case .glob(let path) = manifest.source, case .standardInput = job.manifests[1].list.source,
      case .inline(let urls) = job.manifests[2].list.source
    else { throw UnexpectedSource() }
    #expect(manifest.name == "urls/*.csv")
    #expect(path == "/srv/jobs/urls/*.csv")
    #expect(urls == [URLList.InlineEntry(text: "a.jpg", line: 14), URLList.InlineEntry(text: "b.jpg", line: 15)])
    #expect(manifest.format == .csv)
    #expect(manifest.priority == .veryHigh)
    #expect(manifest.baseURL.map { String(decoding: $0.bytes, as: UTF8.self) } == "https://img.example.com/")
    #expect(manifest.columns == URLList.Columns(url: "image", priority: "rank"))
    #expect((manifest.include.count, manifest.exclude.count) == (1, 1))
    #expect(manifest.limit == 10)

    #expect(job.prefetch.order == .lifo)
    #expect(job.prefetch.limits.concurrency == 64)
    #expect(job.prefetch.limits.perHost == 4)
    #expect(job.prefetch.deadline == .seconds(5400))

    #expect(job.request.download.headers == [HeaderField("X-Token", "a: b")])
    #expect(job.request.download.accept == "image/png")
    #expect(job.request.download.userAgent == "me/1")
    #expect(job.request.download.timeout == .unlimited)
    #expect(job.request.download.connectTimeout == .seconds(3))
    #expect(job.request.download.stallTimeout == .milliseconds(250))
    #expect(job.request.download.retries == 0)
    #expect(job.request.download.backoff.initial == .zero)
    #expect(job.request.download.backoff.maximum == .seconds(120))
    #expect(job.request.download.redirects == 0)
    #expect(job.request.acceptStatus == [200...200, 203...204])
    #expect(job.request.download.maxBytes == 1536)

    #expect(job.cache.disk.directory == "/srv/jobs/c")
    #expect(job.cache.disk.namespace == "A.b_c-1")
    #expect(job.cache.mode == .only)
    #expect(job.cache.disk.maxAge == nil)
    #expect(job.cache.disk.maxBodyBytes == 500_000_000)
    #expect(job.cache.disk.trimTo == 0.125)
    #expect(job.cache.disk.expireBy == .access)
    #expect(job.cache.disk.freshness == .http)
    #expect(job.cache.disk.minFresh == .seconds(90))
    #expect(job.cache.memory == Job.Cache.Memory(maxCost: 1 << 20, maxCount: 8))
    #expect(job.cache.readOnly.map(\.absolute) == ["/srv/jobs/a/b", "/c"])
    #expect(job.cache.key == .droppingQuery(["utm_source", "x[1]"]))
    #expect(job.cache.verifiesHits)

    #expect(job.verify.rules.depth == .full)
    #expect(job.verify.rules.contentType == .exact)
    #expect(job.verify.rules.formats == [.jpeg, .webp])
    #expect(job.verify.rules.width == VerificationRules.Bounds(minimum: 2, maximum: 20))
    #expect(job.verify.rules.height == VerificationRules.Bounds(minimum: 1, maximum: 30))
    #expect(job.verify.rules.maximumPixels == 2_000_000)
    #expect(job.verify.rules.bytes == VerificationRules.Bounds(minimum: 0, maximum: 2000))

    #expect(job.transform?.resize == Job.Transform.Resize(width: 400, height: 300, fit: .cover))
    #expect(job.transform?.encoding.format == .webp)
    #expect(job.transform?.encoding.options.quality == 70)
    #expect(job.transform?.keepsOriginal == true)

    #expect(job.blacklist.isEnabled == false)
    #expect(job.blacklist.retriesFailed)
    #expect(job.cache.disk.blacklistTTL == nil)
    #expect(job.blacklist.statuses == [400...599])

    let reports = job.reports
    #expect(reports.map(\.format) == [.json, .jsonl, .text])
    #expect(reports[0].destination == .file(JobPath("r/a.json", in: "/srv/jobs/")))
    #expect(reports[2].destination == .standardOutput)
    #expect(job.failOn.failures == .fraction(0.005))
    #expect((job.failOn.empty, job.failOn.unfinished, job.failOn.evicted) == (false, false, true))
  }

  @Test func `a transform has its own defaults`() throws {
    let plain = try #require(try job(shortestJob + "transform: {}\n").transform)
    #expect(
      plain.resize == Job.Transform.Resize() && plain.encoding.format == nil && plain.encoding.options.quality == 85
        && !plain.keepsOriginal
    )
    let resized = try job(shortestJob + "transform: {resize: {height: 9}}\n").transform?.resize
    #expect(resized == Job.Transform.Resize(width: nil, height: 9, fit: .inside))
  }

  @Test func `a word or nested keys are both accepted`() throws {
    let plain = try job(shortestJob + "cache: {memory: {}, key: url-without-query, mode: refresh}")
    #expect(plain.cache.memory == Job.Cache.Memory(maxCost: 256 << 20, maxCount: nil))
    #expect(plain.cache.key == .urlWithoutQuery && plain.cache.mode == .refresh)
    let unbounded = try job(shortestJob + "cache: {memory: {max-cost: none}, key: {drop-query: []}}")
    #expect(unbounded.cache.memory == Job.Cache.Memory(maxCost: nil, maxCount: nil))
    #expect(unbounded.cache.key == .droppingQuery([]))
    let setting = try #require(JobOverride(setting: "cache.memory.max-cost=64MiB"))
    #expect(try job(shortestJob, [setting]).cache.memory?.maxCost == 64 << 20)
    let fromHere = try #require(JobOverride(setting: "cache.read-only=[x]"))
    #expect(try job(shortestJob, [fromHere]).cache.readOnly.map(\.absolute) == ["\(FileManager.default.currentDirectoryPath)/x"])
  }

  @Test(
    arguments: [
      (["PREWARM_CACHE_DIR": "/p", "XDG_CACHE_HOME": "/x", "HOME": "/h"], "/p"),
      (["PREWARM_CACHE_DIR": "", "XDG_CACHE_HOME": "/x", "HOME": "/h"], "/x/prewarm"),
      (["XDG_CACHE_HOME": "relative", "HOME": "/h"], "/h/.cache/prewarm"),
    ]
  )
  func `the environment sets the cache directory`(environment: [String: String], directory: String) throws {
    #expect(try job(shortestJob, environment: environment).cache.disk.directory == directory)
  }

  @Test func `variables are expanded`() throws {
    let text = """
      version: 1
      name: ${NAME}
      manifests: [{path: "${DIR}/${FILE:-a}$$ $x.txt"}]
      prefetch: {concurrency: "${COUNT:-16}"}
      """
    let job = try job(text, environment: ["HOME": "/h", "NAME": "n", "DIR": "/d$$", "FILE": ""])
    #expect(job.name == "n")
    #expect(job.prefetch.limits.concurrency == 16)
    guard case .file(let path) = job.manifests[0].list.source else { throw UnexpectedSource() }
    #expect(path == "/d$$/a$ $x.txt")
  }

  @Test func `missing or broken variables are located`() {
    let text = shortestJob + "description: a ${GONE} b\ncache: {directory: '${9}/${OPEN'}\n"
    expectGolden(mistakes(in: text).joined(separator: "\n"))
  }

  @Test func `columns count characters, and carets count cells`() throws {
    let text = "\u{FEFF}version: 1\r\nname: a\r\ndescription: {日本: x}\r\nmanifests: [{path: 日本, limt: 1}]\r\n"
    let shown = try #require(throws: JobFileErrors.self) { try job(text) }.formatted(color: false)
    expectGolden(shown)
  }

  struct UnexpectedSource: Error {}
}
