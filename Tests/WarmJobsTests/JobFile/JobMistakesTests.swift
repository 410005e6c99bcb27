import Testing
import WarmJobs

@Suite struct JobMistakesTests {
  @Test("ten mistakes are ten located errors") func tenMistakesAreTenLocatedErrors() {
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
    #expect(
      mistakes(in: text) == [
        "2:7: 'name' needs lower-case letters, digits and '-', beginning with a letter or digit, not 'Home Page'",
        "5:15: 'urgent' is not a priority; use very-high, high, normal, low or very-low",
        "7:5: 'path' stands beside 'urls'; an entry has one of them",
        "9:10: 'sideways' is not an order; use fifo or lifo",
        "10:3: unknown key 'per-hst'; did you mean 'per-host'?",
        "11:16: 'concurrency' needs a whole number from 1 to 4096, not '5000'",
        "12:3: 'concurrency' is given twice; first on line 11",
        "14:12: 'timeout' needs a duration above zero such as 500ms, 15s, 30m, 2h or 7d, or none, not '15'",
        "15:13: 'Host' is set by prewarm itself and cannot be given",
        "16:15: 'refetch' is not a cache mode; use use, bypass, only or refresh",
      ]
    )
  }

  @Test("mistakes are shown with their line and carets") func mistakesAreShownWithTheirLineAndCarets() throws {
    let text = "version: 1\nname: homepage\nmanifests: [{path: a.txt}]\nprefetch:\n  order: sideways\n  per-hst: 3\n"
    let errors = try #require(throws: JobFileErrors.self) { try job(text) }
    #expect(
      errors.formatted(color: false) == """
        /srv/jobs/homepage.yaml:5:10: 'sideways' is not an order; use fifo or lifo
           5 |   order: sideways
             |          ^~~~~~~~
        /srv/jobs/homepage.yaml:6:3: unknown key 'per-hst'; did you mean 'per-host'?
           6 |   per-hst: 3
             |   ^~~~~~~
        2 mistakes; nothing was fetched

        """
    )
    #expect(errors.formatted(color: true).contains("\u{1B}[31m^~~~~~~\u{1B}[0m"))
  }

  @Test("one mistake is singular") func oneMistakeIsSingular() throws {
    let errors = try #require(throws: JobFileErrors.self) { try job(shortestJob + "nane: x\n") }
    #expect(errors.formatted(color: false).hasSuffix("\n1 mistake; nothing was fetched\n"))
  }

  @Test(
    "the structure is checked",
    arguments: [
      ("version: 2\nname: a\nmanifests: [{path: a}]", ["1:10: 'version' needs 1, not '2'"]),
      ("name: a", ["1:1: 'version' is missing; write version: 1", "1:1: 'manifests' is missing"]),
      ("[]", ["1:1: a job needs keys below it, such as 'description: \"\"', not a list"]),
      (
        "version: 1\nname:\nmanifests: []",
        [
          "2:1: 'name' has no value; it needs lower-case letters, digits and '-', beginning with a letter or digit",
          "3:12: 'manifests' needs at least one entry",
        ]
      ),
      (
        "version: 1\nname: a\nmanifests: [{priority: low}, a.txt]",
        [
          "3:13: an entry of 'manifests' needs path, url or urls",
          "3:30: 'manifests' needs keys below it, such as 'urls: []', not a single value",
        ]
      ),
      (
        "version: 1\nname: a\nmanifests: [{path: '-'}, {path: '-'}]",
        [
          "3:33: standard input is already the manifest of another entry"
        ]
      ),
      (
        "version: 1\nname: a\nmanifests: [{path: a, format: csv, newer-than: 7d}, {urls: [], sitemap-priority: true}]",
        [
          "3:48: 'newer-than' has no effect: format: csv is no sitemap",
          "3:82: 'sitemap-priority' has no effect: entries written in the job are no sitemap",
        ]
      ),
      (
        "version: 1\nname: a\nmanifests: [{path: a, base-url: img/}]",
        [
          "3:33: 'base-url' needs an absolute http or https URL, or none"
        ]
      ),
      (
        "version: 1\nname: !!int 5\nmanifests: [{url: 'https://h/s.xml'}]",
        [
          "2:7: tags are not supported, such as 'tag:yaml.org,2002:int' here"
        ]
      ),
    ]
  )
  func structureIsChecked(text: String, expected: [String]) {
    #expect(mistakes(in: text) == expected)
  }

  @Test("variants and edges multiply an entry within limits") func variantsAndEdgesMultiplyAnEntryWithinBounds() {
    let names = { (count: Int, value: String) in (1...count).map { "n\($0): \(value)" }.joined(separator: ", ") }
    let text = { (variants: Int) in
      shortestJob + "request: {edges: {\(names(25, "'e:443'"))}, variants: {\(names(variants, "{}"))}}\n"
    }
    #expect(mistakes(in: text(40)) == [])
    let found = mistakes(in: text(41))
    #expect(found.count == 1)
    #expect(found[0].hasSuffix("each entry would be fetched 1025 times; variants and edges may make 1000"))
  }

  @Test("patterns and URLs are validated by the code that uses them") func patternsAndURLsAreJudgedByWhoReadsThem() throws {
    let found = mistakes(in: "version: 1\nname: a\nmanifests: [{path: a, include: ['re:('], base-url: 'http://h:99999/'}]")
    #expect(found.count == 2)
    #expect(found.first?.hasPrefix("3:33: 'include' needs a glob over the URL's path, or re: and a regular expression: ") == true)
    #expect(found.last?.hasPrefix("3:52: 'base-url' needs an absolute http or https URL, or none: ") == true)
  }

  @Test(
    "values are checked",
    arguments: [
      ("prefetch: {rate: 200}", "4:18: 'rate' needs a rate above zero such as 200/s, 30/m or 100/h, or none, not '200'"),
      (
        "prefetch: {per-host-rate: 0/s}",
        "4:27: 'per-host-rate' needs a rate above zero such as 200/s, 30/m or 100/h, or none, not '0/s'"
      ),
      ("request: {http: 3}", "4:17: '3' is not a version of HTTP; use auto, 1.1 or 2"),
      (
        "request: {connect-to: [a:80:b]}",
        "4:24: 'connect-to' needs a list, each item HOST:PORT:CONNECT-HOST:CONNECT-PORT, as curl's --connect-to, not 'a:80:b'"
      ),
      (
        "request: {edges: {a: example.com}}",
        "4:22: 'edges' needs names, each with a host and a port such as edge.example.com:443 or [2001:db8::1]:443, not 'example.com'"
      ),
      ("request: {edges: {a: 'e:443', a: 'f:443'}}", "4:31: 'a' is given twice"),
      (
        "request: {edges: {a b: 'e:443'}}",
        "4:19: a name in 'edges' needs letters, digits, '.', '_' and '-', not beginning with a dot"
      ),
      (
        "request: {proxy: 'ftp://p:21'}",
        "4:18: 'proxy' needs a proxy such as http://proxy.example.com:3128 (http, https, socks4, socks4a, socks5 or socks5h), or "
          + "environment, or none, not 'ftp://p:21'"
      ),
      (
        "request: {proxy: 'ftp://me:secret@p:21'}",
        "4:18: 'proxy' needs a proxy such as http://proxy.example.com:3128 (http, https, socks4, socks4a, socks5 or socks5h), or "
          + "environment, or none, not '***'"
      ),
      (
        "request: {auth: {username: me, password-env: hunter2}}",
        "4:46: the environment has no variable of that name; set it to the secret"
      ),
      ("request: {auth: {password-env: HOME}}", "4:17: 'username' is missing; write username: prewarm"),
      (
        "request: {auth: {username: 'a:b', password-env: HOME}}",
        "4:28: 'username' needs a user's name, without colon and control characters, not 'a:b'"
      ),
      ("request: {variants: {webp: {Host: x}}}", "4:29: 'Host' is set by prewarm itself and cannot be given"),
      (
        "request: {addresses: public, proxy: environment}",
        "4:22: 'addresses' has no effect: a proxy connects by itself, to whatever address"
      ),
      (
        "request: {edges: {a: 'e:443'}, connect-to: ['::x:']}",
        "4:44: 'connect-to' has no effect: entries are fetched from the edges"
      ),
      (
        "request: {cookies: true, headers: {cookie: a=1}}",
        "4:35: a 'Cookie' field beside cookies: true would be sent as a second one (RFC 6265, section 5.4)"
      ),
      ("request: {tls: {client-key: k.pem}}", "4:29: 'client-key' has no effect without a 'client-certificate'"),
      ("request: {tls: {verify: false, ca-file: c.pem}}", "4:41: 'ca-file' has no effect with verify: false"),
      (
        "verify: {remote-cache: hit}\ncache: {mode: only}",
        "4:24: 'remote-cache' has no effect: nothing is fetched with mode: only"
      ),
      ("request: {method: probe}\nverify: {decode: full}", "5:18: 'decode' has no effect: method: probe fetches no whole images"),
      ("request: {method: head}\ncache: {memory: {}}", "5:17: 'memory' has no effect: method: head fetches no whole images"),
      ("request: {method: probe}\nverify: {strict: true}", "5:18: 'strict' has no effect: method: probe fetches no whole images"),
      (
        "request: {method: head}\nverify: {width: {min: 5}}",
        "5:17: 'width' has no effect: method: head fetches no header of an image"
      ),
      ("verify: {decode: none, animated: forbid}", "4:34: 'animated' has no effect: decode: none reads no header"),
      ("verify: {decode: none, max-pixels: 1MP}", "4:36: 'max-pixels' has no effect: decode: none reads no header"),
      ("verify: {formats: [jpeg, bmp]}", "4:26: 'bmp' is not a format; use jpeg, png, gif, webp or avif"),
      (
        "transform: webp",
        "4:12: 'transform' needs none, or keys below it such as {resize: {width: 400, height: none, fit: inside}, format: auto, "
          + "quality: 85, keep-original: false}, not 'webp'"
      ),
      ("transform: {format: gif}", "4:21: 'gif' is not a format; use auto, jpeg, png or webp"),
      ("transform: {quality: 0}", "4:22: 'quality' needs a whole number from 1 to 100, not '0'"),
      ("transform: {resize: {width: 0}}", "4:29: 'width' needs a whole number from 1 to 65535, or none, not '0'"),
      ("transform: {resize: {fit: contain}}", "4:27: 'contain' is not a fit; use inside, cover or fill"),
      ("transform: {resize: {fit: cover}}", "4:27: 'fit' has no effect without a 'width' or a 'height'"),
      ("transform: {resize: {widht: 4}}", "4:22: unknown key 'widht'; did you mean 'width'?"),
      ("transform: {}\ncache: {mode: bypass}", "4:12: 'transform' has no effect: nothing is stored with mode: bypass"),
      ("concurrency: 8", "4:1: unknown key 'concurrency'; did you mean 'prefetch.concurrency'?"),
      ("prefetch: {concurrency: \"8\"}", "4:25: 'concurrency' needs a whole number from 1 to 4096, not text; remove the quotes"),
      ("prefetch: {concurrency: 8.5}", "4:25: 'concurrency' needs a whole number from 1 to 4096, not '8.5'"),
      ("prefetch: {concurrency: [8]}", "4:25: 'concurrency' needs a whole number from 1 to 4096, not a list"),
      ("blacklist: {retry: yes}", "4:20: 'retry' needs true or false, not 'yes'"),
      ("cache: {max-size: 2Gib}", "4:19: 'max-size' needs a size such as 64KiB, 500MB or plain bytes, or none, not '2Gib'"),
      ("cache: {trim-to: 0.5}", "4:18: 'trim-to' needs a percentage from 0% to 100%, not '0.5'"),
      (
        "cache: {namespace: .hidden}",
        "4:20: 'namespace' needs letters, digits, '.', '_' and '-', not beginning with a dot, not '.hidden'"
      ),
      ("cache: {max-age: -1d}", "4:18: 'max-age' needs a duration such as 500ms, 15s, 30m, 2h or 7d, or none, not '-1d'"),
      ("cache: {freshness: server}", "4:20: 'server' is not a rule of freshness; use age or http"),
      ("cache: {min-fresh: none}", "4:20: 'min-fresh' needs a duration such as 500ms, 15s, 30m, 2h or 7d, not 'none'"),
      (
        "cache: {memory: on}",
        "4:17: 'memory' needs off, or keys below it such as {max-cost: 256MiB, max-count: none}, not 'on'"
      ),
      (
        "cache: {memory: {max-cost: 0}}",
        "4:28: 'max-cost' needs a size above zero such as 64KiB, 500MB or plain bytes, or none, not '0'"
      ),
      ("cache: {memory: {max-cuont: 3}}", "4:18: unknown key 'max-cuont'; did you mean 'max-count'?"),
      ("cache: {read-only: /srv/images}", "4:20: 'read-only' needs a list, each item a path, not '/srv/images'"),
      ("cache: {read-only: ['']}", "4:21: 'read-only' needs a list, each item a path, not ''"),
      (
        "cache: {key: path}",
        "4:14: 'key' needs url, url-without-query, or keys below it such as {drop-query: [utm_source]}, not 'path'"
      ),
      (
        "cache: {key: [utm_source]}",
        "4:14: 'key' needs url, url-without-query, or keys below it such as {drop-query: [utm_source]}, not a list"
      ),
      ("cache: {key: {}}", "4:14: 'drop-query' is missing; write drop-query: [utm_source]"),
      (
        "cache: {key: {drop-query: [a=b]}}",
        "4:28: 'drop-query' needs a list, each item the name of a parameter as it stands in the URL, such as utm_source, not 'a=b'"
      ),
      ("cache: {verify-hits: 1}", "4:22: 'verify-hits' needs true or false, not '1'"),
      ("cache: {mode: bypass, min-fresh: 1h}", "4:34: 'min-fresh' has no effect: the cache is not read with mode: bypass"),
      ("cache: {mode: bypass, freshness: http}", "4:34: 'freshness' has no effect: the cache is not read with mode: bypass"),
      ("cache: {mode: bypass, memory: {}}", "4:31: 'memory' has no effect: the cache is not read with mode: bypass"),
      ("cache: {mode: bypass, read-only: [a]}", "4:34: 'read-only' has no effect: the cache is not read with mode: bypass"),
      ("cache: {mode: bypass, verify-hits: true}", "4:36: 'verify-hits' has no effect: the cache is not read with mode: bypass"),
      ("cache: {mode: refresh, min-fresh: 1h}", "4:35: 'min-fresh' has no effect: everything is asked for with mode: refresh"),
      (
        "cache: {max-age: 1h, min-fresh: 60m}",
        "4:33: 'min-fresh' is not less than 'max-age': nothing would ever be fresh for that long"
      ),
      ("verify: {width: {min: 5, max: 3}}", "4:31: 'max' is less than 'min'"),
      ("verify: {max-pixels: 0MP}", "4:22: 'max-pixels' needs a number of pixels above zero such as 100MP, or none, not '0MP'"),
      ("request: {backoff: {initial: 1m}}", "4:30: 'maximum' is less than 'initial'"),
      (
        "blacklist: {statuses: [404, 410-40]}",
        "4:29: 'statuses' needs a list of statuses from 100 to 599 such as [400, 404-406], not '410-40'"
      ),
      (
        "request: {accept-status: [99]}",
        "4:27: 'accept-status' needs a list of statuses from 200 to 599 such as [400, 404-406], not '99'"
      ),
      ("fail-on: {kinds: {dns: few}}", "4:24: 'dns' needs a count, or a percentage such as 1%, or never, not 'few'"),
      ("fail-on: {kinds: {http-stats: 1}}", "4:19: 'http-stats' is not a kind of failure; did you mean 'http-status'?"),
      ("fail-on: {latency: {p75: 1s}}", "4:21: 'p75' is not a percentile; use p50, p90, p99 or max"),
      ("fail-on: {failures: 1.5.2%}", "4:21: 'failures' needs a count, or a percentage such as 1%, or never, not '1.5.2%'"),
      ("report: [{text: '-'}, {json: '-'}]", "4:30: standard output is already the target of the text report"),
      ("report: [{json: a.json}, {jsonl: ./b/../a.json}]", "4:34: './b/../a.json' is already the target of the json report"),
      ("request: {headers: {Accept: '*/*'}}", "4:21: 'Accept' has a key of its own; use request.accept"),
      ("request: {headers: {'Bad Name': x}}", "4:21: 'Bad Name' is not the name of a header field"),
      ("request: {headers: {X-A: 1, x-a: 2}}", "4:29: 'x-a' is given twice; the case of letters does not count"),
      ("request: {headers: {X-A: \"a\\nb\"}}", "4:26: the field 'X-A' needs text without control characters"),
      (
        "<<: {a: 1}",
        "4:1: unknown key '<<'; known here: version, name, description, manifests, prefetch, request, cache, verify, "
          + "transform, blacklist, report, shard-by, fail-on"
      ),
      ("verify: [full]", "4:9: 'verify' needs keys below it, such as 'decode: header', not a list"),
      ("? [a]\n: b", "4:3: a key is text, not a list"),
    ]
  )
  func valuesAreChecked(line: String, expected: String) {
    #expect(mistakes(in: shortestJob + line) == [expected])
  }

  @Test(
    "compatible cache keys are accepted",
    arguments: [
      "cache: {max-age: 1h, min-fresh: 2h, freshness: http}", "cache: {max-age: none, min-fresh: 2h}",
      "cache: {max-age: 0s, min-fresh: 0s}", "cache: {mode: only, min-fresh: 1h}", "cache: {mode: refresh, freshness: http}",
      "cache: {mode: bypass, min-fresh: 0s, freshness: age, memory: off, read-only: [], key: url-without-query}",
      "cache: {mode: refresh, memory: {max-count: 1}, read-only: [a], verify-hits: true}",
      "cache: {memory: {max-cost: 256MiB, max-count: none}, key: {drop-query: [utm_source]}}",
    ]
  )
  func keysOfTheCacheThatGoTogetherAreTaken(line: String) {
    #expect(mistakes(in: shortestJob + line) == [])
  }

  @Test("a mode option silences conflicts with keys of the file, not with other options")
  func aModeOfTheCommandLineSilencesTheFilesKeysAndNotItsOwn() {
    let bypass = JobOverride(path: "cache.mode", value: "bypass", origin: "--cache-mode")
    let minFresh = JobOverride(path: "cache.min-fresh", value: "1h", origin: "--min-fresh")
    #expect(mistakes(in: shortestJob + "cache: {min-fresh: 1h, freshness: http, memory: {}}", [bypass]) == [])
    let expected = "--min-fresh 1h: 'min-fresh' has no effect: the cache is not read with mode: bypass"
    #expect(mistakes(in: shortestJob, [bypass, minFresh]) == [expected])
    #expect(mistakes(in: shortestJob + "cache: {mode: bypass}", [minFresh]) == [expected])
  }

  @Test("an unsupported key may have its default") func aKeyThatDoesNotWorkYetMayStandWithItsDefault() {
    let text = shortestJob + "transform: none\nprefetch: {rate: none}\nrequest: {tls: {verify: true}}\nfail-on: {kinds: {}}\n"
    #expect(mistakes(in: text) == [])
  }

  @Test("a mistake repeated by an alias is reported once") func whatAnAliasRepeatsIsOneMistake() {
    let text = "version: 1\nname: a\nmanifests:\n  - &m {path: a, limit: few}\n  - *m\n"
    #expect(mistakes(in: text) == ["4:25: 'limit' needs a whole number of at least 1, or none, not 'few'"])
  }

  @Test("syntax errors and unreadable files are errors too") func mistakesOfSyntaxAndUnreadableFilesAreErrorsToo() throws {
    #expect(mistakes(in: "a: [") == ["2:1: while parsing a flow node: did not find expected node content"])
    let missing = try #require(throws: JobFileErrors.self) {
      try JobFile.load(path: "/nonexistent/job.yaml", environment: [:])
    }
    #expect(
      missing.formatted(color: false).hasPrefix("/nonexistent/job.yaml: cannot be read: No such file or directory\n1 mistake;")
    )
    let folder = try #require(throws: JobFileErrors.self) { try JobFile.load(path: "/", environment: [:]) }
    #expect(folder.mistakes[0].message == "cannot be read: Is a directory")
  }
}

@Suite struct JobSecretsTests {
  @Test("the values of variables are never shown") func whatVariablesHoldIsNeverShown() throws {
    let text = shortestJob + "prefetch: {order: \"${ORDER}\"}\n"
    let errors = try #require(throws: JobFileErrors.self) { try job(text, environment: ["HOME": "/h", "ORDER": "hunter2"]) }
    let shown = errors.formatted(color: false)
    #expect(!shown.contains("hunter2"))
    #expect(shown.contains("4:19: '${ORDER}', its variables filled in, is not an order; use fifo or lifo"))
  }

  @Test("header values and users in URLs aren't shown") func valuesOfHeadersAndUsersOfURLsAreNotShown() throws {
    let text =
      shortestJob + "request: {headers: {Authorization: Bearer hunter2, Bad Name: x}}\nmanifst: 'https://me:hunter2@h/'\n"
    let shown = try #require(throws: JobFileErrors.self) { try job(text) }.formatted(color: false)
    #expect(!shown.contains("hunter2"))
    #expect(shown.contains("{Authorization: **************, Bad Name: *}}"))
  }

  @Test("header values in options aren't shown") func valuesOfHeadersInOptionsAreNotShown() throws {
    let setting = try #require(JobOverride(setting: "request.headers={Host: hunter2}"))
    let shown = try #require(throws: JobFileErrors.self) { try job(shortestJob, [setting]) }.formatted(color: false)
    #expect(shown.hasPrefix("--set request.headers=***: 'Host' is set by prewarm itself and cannot be given\n"))
  }
}
