import TestSupport
import Testing
import Jobs

@Suite struct JobMistakesTests {
  @Test func `ten errors are all reported with locations`() {
    let text = """
      version: 1
      name: Home Page
      manifests:
        - path: a.txt
          priority: urgent
        - urls: []
          path: b.txt
      prefetch:
        order: sideways
        per-hst: 3
        concurrency: 5000
        concurrency: 8
      request:
        timeout: 15
        headers: {Host: example.com}
      cache: {mode: refetch}
      """
    expectGolden(mistakes(in: text).joined(separator: "\n"))
  }

  @Test func `errors are shown with their line and carets`() throws {
    let text = "version: 1\nname: homepage\nmanifests: [{path: a.txt}]\nprefetch:\n  order: sideways\n  per-hst: 3\n"
    let errors = try #require(throws: JobFileErrors.self) { try job(text) }
    expectGolden(errors.formatted(color: false))
    #expect(errors.formatted(color: true).contains("\u{1B}[31m^~~~~~~\u{1B}[0m"))
  }

  @Test func `one error is singular`() throws {
    let errors = try #require(throws: JobFileErrors.self) { try job(shortestJob + "nane: x\n") }
    expectGolden(errors.formatted(color: false))
  }

  @Test(
    arguments: [
      "version: 2\nname: a\nmanifests: [{path: a}]", "name: a", "[]", "version: 1\nname:\nmanifests: []",
      "version: 1\nname: a\nmanifests: [{priority: low}, a.txt]", "version: 1\nname: a\nmanifests: urls.txt",
      "version: 1\nname: a\nmanifests: [urls.txt]",
      "version: 1\nname: a\nmanifests: [https://h/s.xml, https://h/1.jpg, 'urls, old.txt', 'https://me:secret@h/1.jpg']",
      "version: 1\nname: a\nmanifests: [{file: urls.txt}]", "version: 1\nname: a\nmanifests: [{path: a}]\nreport: out.json",
      "version: 1\nname: a\nmanifests: [{path: a}]\nreport: [report.xml, html, '-']",
      "version: 1\nname: a\nmanifests: [{path: a}]\nreport: [{xml: out.xml}, {jsn: a.json}, {pdf: a.pdf}]",
      "version: 1\nname: a\nmanifests: [{path: '-'}, {path: '-'}]",
      "version: 1\nname: a\nmanifests: [{path: a, format: csv, newer-than: 7d}, {urls: [], sitemap-priority: true}]",
      "version: 1\nname: a\nmanifests: [{path: a, format: feed, newer-than: 7d, pages: true}, {page: 'https://h/', pages: true}]",
      "version: 1\nname: a\nmanifests: [{path: a, base-url: img/}]",
      "version: 1\nname: !!int 5\nmanifests: [{url: 'https://h/s.xml'}]",
    ]
  )
  func `the structure is checked`(text: String) {
    expectGolden(mistakes(in: text).joined(separator: "\n"), for: text)
  }

  @Test func `variants and edges multiply an entry within limits`() {
    let names = { (count: Int, value: String) in (1...count).map { "n\($0): \(value)" }.joined(separator: ", ") }
    let text = { (variants: Int) in
      shortestJob + "request: {edges: {\(names(25, "'e:443'"))}, variants: {\(names(variants, "{}"))}}\n"
    }
    #expect(mistakes(in: text(40)) == [])
    let found = mistakes(in: text(41))
    #expect(found.count == 1)
    expectGolden(found[0])
  }

  @Test func `patterns and URLs are validated by the code that uses them`() throws {
    let found = mistakes(in: "version: 1\nname: a\nmanifests: [{path: a, include: ['re:('], base-url: 'http://h:99999/'}]")
    #expect(found.count == 2)
    expectGolden(found.first, for: "include")
    expectGolden(found.last, for: "base-url")
  }

  @Test(
    arguments: [
      "prefetch: {rate: 200}", "prefetch: {per-host-rate: 0/s}", "request: {http: 3}", "request: {connect-to: [a:80:b]}",
      "request: {edges: {a: example.com}}", "request: {edges: {a: 'e:443', a: 'f:443'}}", "request: {edges: {a b: 'e:443'}}",
      "request: {proxy: 'ftp://p:21'}", "request: {proxy: 'ftp://me:secret@p:21'}",
      "request: {auth: {username: me, password-env: hunter2}}", "request: {auth: {password-env: HOME}}",
      "request: {auth: {username: 'a:b', password-env: HOME}}", "request: {variants: {webp: {Host: x}}}",
      "request: {addresses: public, proxy: environment}", "request: {edges: {a: 'e:443'}, connect-to: ['::x:']}",
      "request: {cookies: true, headers: {cookie: a=1}}", "request: {tls: {client-key: k.pem}}",
      "request: {tls: {verify: false, ca-file: c.pem}}", "verify: {remote-cache: hit}\ncache: {mode: only}",
      "request: {method: probe}\nverify: {decode: full}", "request: {method: head}\ncache: {memory: {}}",
      "request: {method: probe}\nverify: {strict: true}", "request: {method: head}\nverify: {width: {min: 5}}",
      "verify: {decode: none, animated: forbid}", "verify: {decode: none, max-pixels: 1MP}", "verify: {formats: [jpeg, psd]}",
      "transform: webp", "transform: {format: gif}", "transform: {quality: 0}", "transform: {resize: {width: 0}}",
      "transform: {resize: {fit: contain}}", "transform: {resize: {fit: cover}}", "transform: {resize: {widht: 4}}",
      "transform: {}\ncache: {mode: bypass}", "concurrency: 8", "prefetch: {concurrency: \"8\"}",
      "prefetch: {concurrency: 8.5}", "prefetch: {concurrency: [8]}", "blacklist: {retry: yes}", "cache: {max-size: 2Gib}",
      "cache: {trim-to: 0.5}", "cache: {namespace: .hidden}", "cache: {max-age: -1d}", "cache: {freshness: server}",
      "cache: {min-fresh: none}", "cache: {memory: on}", "cache: {memory: {max-cost: 0}}", "cache: {memory: {max-cuont: 3}}",
      "cache: {read-only: /srv/images}", "cache: {read-only: ['']}", "cache: {key: path}", "cache: {key: [utm_source]}",
      "cache: {key: {}}", "cache: {key: {drop-query: [a=b]}}", "cache: {verify-hits: 1}",
      "cache: {mode: bypass, min-fresh: 1h}", "cache: {mode: bypass, freshness: http}", "cache: {mode: bypass, memory: {}}",
      "cache: {mode: bypass, read-only: [a]}", "cache: {mode: bypass, verify-hits: true}",
      "cache: {mode: refresh, min-fresh: 1h}", "cache: {max-age: 1h, min-fresh: 60m}", "verify: {width: {min: 5, max: 3}}",
      "verify: {max-pixels: 0MP}", "request: {backoff: {initial: 1m}}", "blacklist: {statuses: [404, 410-40]}",
      "request: {accept-status: [99]}", "fail-on: {kinds: {dns: few}}", "fail-on: {kinds: {http-stats: 1}}",
      "fail-on: {latency: {p75: 1s}}", "fail-on: {failures: 1.5.2%}", "report: [{text: '-'}, {json: '-'}]",
      "report: [{json: a.json}, {jsonl: ./b/../a.json}]", "request: {headers: {Accept: '*/*'}}",
      "request: {headers: {'Bad Name': x}}", "request: {headers: {X-A: 1, x-a: 2}}", "request: {headers: {X-A: \"a\\nb\"}}",
      "hosts: [img.example.com]", "hosts: {img.example.com: 5}", "hosts: {'https://img.example.com/': {}}",
      "hosts: {'me:secret@img.example.com': {}}", "hosts: {'*': {}}", "hosts: {[::1]: {}}", "hosts: {*.example.com: {}}",
      "hosts:\n  IMG.example.com: {}\n  img.example.com: {}", "hosts: {img.example.com: {per-hst: 3}}",
      "hosts: {img.example.com: {per-host-rate: fast}}", "hosts: {img.example.com: {auth: {username: me}}}",
      "request: {cookies: true}\nhosts: {a: {headers: {X-A: b}}, b: {headers: {cookie: a=1}}}",
      "<<: {a: 1}", "verify: [full]", "? [a]\n: b",
    ]
  )
  func `values are checked`(line: String) {
    let found = mistakes(in: shortestJob + line)
    #expect(found.count == 1)
    expectGolden(found.first, for: line)
  }

  @Test(
    arguments: [
      "cache: {max-age: 1h, min-fresh: 2h, freshness: http}", "cache: {max-age: none, min-fresh: 2h}",
      "cache: {max-age: 0s, min-fresh: 0s}", "cache: {mode: only, min-fresh: 1h}", "cache: {mode: refresh, freshness: http}",
      "cache: {mode: bypass, min-fresh: 0s, freshness: age, memory: off, read-only: [], key: url-without-query}",
      "cache: {mode: refresh, memory: {max-count: 1}, read-only: [a], verify-hits: true}",
      "cache: {memory: {max-cost: 256MiB, max-count: none}, key: {drop-query: [utm_source]}}",
    ]
  )
  func `compatible cache keys are accepted`(line: String) {
    #expect(mistakes(in: shortestJob + line) == [])
  }

  @Test func `a mode option silences conflicts with keys of the file, not with other options`() {
    let bypass = JobOverride(path: "cache.mode", value: "bypass", origin: "--cache-mode")
    let minFresh = JobOverride(path: "cache.min-fresh", value: "1h", origin: "--min-fresh")
    #expect(mistakes(in: shortestJob + "cache: {min-fresh: 1h, freshness: http, memory: {}}", [bypass]) == [])
    let found = mistakes(in: shortestJob, [bypass, minFresh])
    #expect(found.count == 1 && mistakes(in: shortestJob + "cache: {mode: bypass}", [minFresh]) == found)
    expectGolden(found.first)
  }

  @Test func `an unsupported key may have its default`() {
    let text = shortestJob + "transform: none\nprefetch: {rate: none}\nrequest: {tls: {verify: true}}\nfail-on: {kinds: {}}\n"
    #expect(mistakes(in: text) == [])
  }

  @Test func `an error repeated by an alias is reported once`() {
    let text = "version: 1\nname: a\nmanifests:\n  - &m {path: a, limit: few}\n  - *m\n"
    expectGolden(mistakes(in: text).joined(separator: "\n"))
  }

  @Test func `syntax errors and unreadable files are errors too`() throws {
    expectGolden(mistakes(in: "a: [").joined(separator: "\n"))
    let missing = try #require(throws: JobFileErrors.self) {
      try JobFile.load(path: "/nonexistent/job.yaml", environment: [:])
    }
    expectGolden(missing.formatted(color: false))
    let folder = try #require(throws: JobFileErrors.self) { try JobFile.load(path: "/", environment: [:]) }
    expectGolden(folder.errors[0].message)
  }
}

@Suite struct JobSecretsTests {
  @Test func `the values of variables are never shown`() throws {
    let text = shortestJob + "prefetch: {order: \"${ORDER}\"}\n"
    let errors = try #require(throws: JobFileErrors.self) { try job(text, environment: ["HOME": "/h", "ORDER": "hunter2"]) }
    let shown = errors.formatted(color: false)
    #expect(!shown.contains("hunter2"))
    expectGolden(shown)
  }

  @Test func `header values and users in URLs aren't shown`() throws {
    let text =
      shortestJob + "request: {headers: {Authorization: Bearer hunter2, Bad Name: x}}\nmanifst: 'https://me:hunter2@h/'\n"
    let shown = try #require(throws: JobFileErrors.self) { try job(text) }.formatted(color: false)
    #expect(!shown.contains("hunter2"))
    #expect(shown.contains("{Authorization: **************, ********: *}}"))
  }

  @Test(
    arguments: [
      "request: {auth: {password: hunter2}}", "request: {auth: 'me:hunter2'}", "request: {headers: 'Authorization: hunter2'}",
      "request: {header: {Authorization: hunter2}, x: 1}", "request: {headers: {'Authorization: hunter2': x}}",
      "request: {headers: ['Authorization: hunter2']}", "request: {bearer: hunter2}", "request: {cookies: hunter2}",
      "Authorization: hunter2", "request: {auth: {password: ['hunter2']}}",
      // Invalid YAML.
      "request:\n  headers:\n    Authorization: hunter2: x", "request:\n  auth:\n    password: [hunter2\n    x: hunter2: y",
      "request: {headers: {Authorization: 'hunter2}}", "request: {proxy: http://me:hunter2@h/: x}: y: z",
    ]
  )
  func `an error shows no secret, whatever its key is called`(_ text: String) throws {
    let shown = try #require(throws: JobFileErrors.self) { try job(shortestJob + text + "\n") }.formatted(color: false)
    #expect(!shown.contains("hunter2"), "\(shown)")
  }

  @Test func `header values in options aren't shown`() throws {
    let setting = try #require(JobOverride(setting: "request.headers={Host: hunter2}"))
    let shown = try #require(throws: JobFileErrors.self) { try job(shortestJob, [setting]) }.formatted(color: false)
    expectGolden(shown)
  }
}
