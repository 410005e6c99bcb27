/// Values of keys, and whether the schema and the command accept them.
enum SchemaValues {
  enum Verdict {
    case good, bad
    /// Only the command rejects it: no regular expression can, or reading YAML loses it.
    case badForTheCommandAlone
  }

  struct Row {
    let key: String
    let value: String
    let verdict: Verdict
  }

  static let table: [Row] = rows(.good, good) + rows(.bad, bad) + rows(.badForTheCommandAlone, beyondASchema)

  private static func rows(_ verdict: Verdict, _ lines: String) -> [Row] {
    lines.split(separator: "\n").flatMap { line in
      let parts = line.split(separator: " ", maxSplits: 1)
      return parts[1].split(separator: " ; ").map { value in
        Row(key: String(parts[0]), value: value.trimming(), verdict: verdict)
      }
    }
  }

  private static let good = #"""
    version 1 ; ${NO_SUCH:-1}
    name a ; 5 ; "0-9" ; shop-2 ; true
    description "" ; 1.5 ; yes ; "a: b" ; ${N} ; $$ ; off
    manifests[].path "-" ; 5 ; "*.txt.gz" ; "${HOME}/a"
    manifests[].url http://a ; "HTTPS://A.example/b?c#d" ; "http://[::1]:80/"
    manifests[].urls ["http://a/b.jpg", 5, /relative] ; []
    manifests[].include ["/a/**", "re:[.]jpe?g$"]
    manifests[].limit none ; "none" ; 1 ; 9223372036854775807 ; "${N}"
    manifests[].newer-than 7d ; 0s ; 1.5h
    manifests[].template none ; "{url}?w=1" ; "https://i.example.com/{host}/{path}?{query}"
    manifests[].expand {}
    manifests[].sign none ; {service: imgproxy, key-env: IMGPROXY_KEY, salt-env: IMGPROXY_SALT}
    manifests[].sign {service: thumbor, key-env: IMAGES_PASSWORD}
    manifests[].lazy-attributes [data-src, data-lazy-src, data-original, data-srcset, data-lazy-srcset, data-bg, data-background, data-background-image, data-bgset]
    prefetch.order fifo ; "lifo" ; "${WORD}" ; "${NO:-fifo}"
    prefetch.concurrency 1 ; 4096 ; 007
    prefetch.rate 200/s ; 0.5/m ; 1/h ; none
    prefetch.adaptive false ; "${NO:-false}"
    request.headers {} ; {X-A: b, X-B: 5, X-C: true} ; {X-A: ""} ; {X-A: "$${a}"} ; {X-A: "a\tb"}
    request.variants {} ; {webp: {Accept: image/webp}} ; {a.b: {}} ; {"5": {User-Agent: x}}
    request.timeout none ; 1ms ; 2h ; 0.001s
    request.retries 0 ; 100
    request.accept-status [200] ; [200-299, 304] ; ["404"] ; [599] ; []
    request.max-bytes 1 ; 1.5 ; 1.5MiB ; 10kB ; "64" ; none ; 500KB
    request.http auto ; 1.1 ; "1.1" ; 2 ; "2"
    request.connect-to ["a:443:b:8443"] ; ["::[::1]:"] ; ["a:::1"] ; [] ; ["::b:"]
    request.edges {fra: "a.example:443"} ; {x: "[2001:db8::1]:8443"} ; {}
    request.proxy none ; environment ; http://proxy:3128 ; socks5h://u:p@proxy:1080 ; proxy:3128
    request.auth none ; {username: a, password-env: IMAGES_PASSWORD}
    hosts {} ; {img.example.com: {}} ; {"*.example.com": {}, "[::1]:80": {}, "a:80": {severity: warn}}
    hosts[].per-host 1 ; 4096
    hosts[].per-host-rate none ; 1/h
    hosts[].auth none ; {username: a, password-env: IMAGES_PASSWORD}
    cache.directory default ; /a ; ~/cache
    cache.namespace a.b_c-D ; 5
    cache.memory off ; "off" ; {} ; {max-cost: none} ; {max-count: 10}
    cache.key url-without-query ; {drop-query: [utm_source, "a[]"]} ; {drop-query: []}
    cache.trim-to 0% ; 100% ; 99.999999% ; 050% ; 100.0%
    cache.min-fresh 0s ; 0ms
    verify.formats any ; [jpeg, png] ; [heic, jpeg-xl] ; []
    verify.max-pixels 1 ; 1KP ; 0.5MP ; none
    verify.width {max: 0, min: 0} ; {}
    verify.bytes {min: 0kB, max: 1MB}
    transform none ; {} ; {resize: {width: 65535}} ; {quality: 1}
    blacklist.statuses [100, 500-599] ; [404-404]
    report [] ; [{text: "-"}] ; [{junit: a.xml}, {junit: {path: b.xml}}, {json: c.json}]
    fail-on.failures never ; 0 ; 5 ; 1% ; "1%" ; 0.5%
    fail-on.empty never ; true ; false
    fail-on.kinds {http-status: 1%, dns: 0, tls: never} ; {}
    fail-on.latency {p99: 2s, max: never}
    notify[].when failed ; changed ; always
    notify[].email.server smtp://mail.example.com ; "smtps://[2001:db8::1]:465" ; smtp://localhost:25/ehlo.example.com ; "${NO_SUCH:-smtp://h}"
    notify[].email.to [a@b] ; [first.last+tag@example.com, ops@example.com]
    """#

  private static let bad = #"""
    version 2 ; "1" ; 1.5 ; one
    name A ; -a ; "" ; a_b ; a b
    manifests[].path "" ; {a: b}
    manifests[].url ftp://a/b ; /a ; "" ; 5 ; "http://"
    manifests[].urls a ; [[a]] ; [{a: b}] ; [~] ; [null]
    manifests[].priority urgent ; 5 ; High
    manifests[].columns 5 ; {path: a}
    manifests[].limit 0 ; -1 ; "5" ; 1.5 ; all
    manifests[].newer-than 7 ; 7w ; -1d ; 7 d ; "" ; 1.2345678d
    manifests[].template [a] ; {a: b}
    manifests[].expand {w: 1} ; {w: [[1]]} ; {"a b": [1]} ; [w]
    manifests[].sign imgproxy ; {service: imgproxy} ; {service: other, key-env: IMGPROXY_KEY, salt-env: IMGPROXY_SALT}
    manifests[].lazy-attributes data-src ; [[a]]
    hosts [] ; img.example.com ; {"https://a": {}} ; {"*": {}} ; {"*.a:80": {}} ; {a: 5} ; {a: {rate: 1/s}}
    hosts[].per-host 0 ; none
    hosts[].severity ignore
    prefetch.order sideways ; FIFO ; 1
    prefetch.concurrency 0 ; 4097 ; "5" ; many ; true
    prefetch.rate 200 ; 0/s ; 1/d ; 5/ ; /s ; 0.0/m
    prefetch.adaptive "true" ; yes ; 1
    request.headers {Host: a} ; {"a b": c} ; {accept: a} ; {X-A: ~} ; {X-A: [b]} ; {X-A: "a\nb"} ; {RANGE: a} ; {"": a}
    request.variants {.a: {}} ; {a: 5} ; {a: {Host: b}} ; {"": {}}
    request.timeout 0s ; 60 ; 0.0ms
    request.accept-status [199] ; [600] ; 200 ; [abc] ; [200-] ; [20] ; [2000]
    request.max-bytes 0 ; 0MB ; -1 ; 5 MB ; 5Mb ; 0.0KiB
    request.http 3 ; "1.0" ; h2
    request.connect-to ["a:443"] ; ["a:1:b:2:c"] ; [":::"] ; [5] ; ["a:b:c:d"]
    request.edges {fra: a.example} ; {fra: "a:0"} ; {fra: 443} ; {fra: ":443"} ; {fra: "a/b:443"}
    request.proxy "" ; ftp//a ; http://a/b
    request.auth {username: a} ; {username: "a:b", password-env: IMAGES_PASSWORD} ; basic
    request.auth.password-env "a b" ; ""
    cache.namespace .a ; a/b ; ""
    cache.memory on ; {max-cost: 0} ; {max-size: 5} ; true
    cache.key path ; {drop-query: [""]} ; {drop-query: ["a&b"]}
    cache.trim-to 50 ; 101% ; 100.1% ; half ; 0.5
    verify.formats [psd] ; jpeg ; [JPEG]
    verify.max-pixels 0 ; 0MP ; 5 MP ; 1TP
    verify.strict 1 ; "false"
    transform {resize: {width: 0}} ; {resize: {width: 65536}} ; {quality: 101} ; {format: gif} ; thumbnail
    blacklist.statuses [99] ; [600] ; [4xx]
    report {text: "-"} ; [text] ; [{pdf: a}] ; [{text: ""}] ; [{junit: {path: a, successes: 1}}]
    fail-on.failures -1 ; 1.5 ; always ; "5" ; 200%
    fail-on.empty 0 ; always
    fail-on.kinds {http: 1} ; {dns: 1.5} ; {dns: ~}
    fail-on.latency {p95: 2s} ; {p99: 2} ; {p99: 0s}
    notify[].when never
    notify[].email.server mail.example.com ; http://h ; smtp://u:p@h ; smtp://h?x ; smtp:// ; smtp://h/a/b
    notify[].email.from ops ; a@b@c ; "a b@c" ; "a@b\r\nBcc: c@d"
    """#

  private static let beyondASchema = #"""
    prefetch.concurrency 0x10 ; 5.0 ; +5
    prefetch.adaptive True
    description ${NO_SUCH} ; "${"
    manifests[].include ["re:("]
    manifests[].newer-than 200000d
    manifests[].template "{url" ; "{x}" ; "{url}}"
    manifests[].expand {w: [1]}
    manifests[].sign {service: imgproxy, key-env: IMAGES_PASSWORD, salt-env: IMGPROXY_SALT}
    manifests[].sign {service: thumbor, key-env: NO_SUCH}
    manifests[].lazy-attributes [data-image]
    manifests[].columns {url: url, priority: "${}"}
    request.accept-status [299-200]
    request.edges {fra: "a:70000"}
    request.auth.password-env NO_SUCH
    request.http 1.10
    verify.width {min: 5, max: 4}
    """#
}

extension Substring {
  fileprivate func trimming() -> String { split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ") }
}
