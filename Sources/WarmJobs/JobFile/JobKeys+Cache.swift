internal import ImageCaching
internal import ImageManaging

extension JobKeys {
  @JobKeyList static var cache: [JobKey] {
    JobKey("cache", "which cache, and how long and how much it keeps")
    JobKey(
      "cache.directory",
      // Which folder the default is, follows from the environment.
      .word("default", means: "", or: JobCodec.path.map(\.absolute, from: { JobPath($0, in: "/") })),
      \.cache.disk.directory,
      "default: $PREWARM_CACHE_DIR, else $XDG_CACHE_HOME/prewarm, else ~/.cache/prewarm"
    )
    JobKey("cache.namespace", .text(.namespace), \.cache.disk.namespace, "a cache of its own within the folder")
    JobKey(
      "cache.mode",
      .cacheMode,
      \.cache.mode,
      isInDigest: true,
      "bypass: always fetch, cache and blacklist neither read nor written; only: never the network; refresh: ask for everything, "
        + "conditionally where it is cached"
    )
    JobKey(
      "cache.freshness",
      .words("a rule of freshness", ["age": .age, "http": .http]),
      \.cache.disk.freshness,
      "age: an entry is fresh until max-age; http: as long as its server said (Cache-Control, Expires), else until max-age"
    )
    JobKey(
      "cache.max-age",
      .orNone(.duration(minimum: .zero)),
      \.cache.disk.maxAge,
      "how old an entry is still fresh; never too old: none"
    )
    JobKey(
      "cache.min-fresh",
      .duration(minimum: .zero),
      \.cache.disk.minFresh,
      "what would expire sooner than this is fetched again now"
    )
    JobKey(
      "cache.max-size",
      .orNone(.size(0...Int.max)),
      \.cache.disk.maxSize,
      "of bodies; beyond it, trimmed oldest first to trim-to"
    )
    JobKey("cache.trim-to", .percentage, \.cache.disk.trimTo, "the part of max-size that trimming leaves")
    JobKey(
      "cache.expire-by",
      .words("a time", ["modification": .modification, "access": .access]),
      \.cache.disk.expireBy,
      "the time that counts for expiry and trimming"
    )
    JobKey(
      "cache.memory",
      .section(or: "off", example: "{max-cost: 256MiB, max-count: none}"),
      \.cache.memory,
      opens: { $0.cache.memory = Job.Cache.Memory() },
      "a layer of decoded images, which the jobs of one run share where its limits are the same"
    )
    JobKey("cache.memory.max-cost", .orNone(.size(1...Int.max)), \.cache.memory!.maxCost, "bytes of pixels")
    JobKey("cache.memory.max-count", .orNone(.integer(1...Int.max)), \.cache.memory!.maxCount, "images")
    JobKey(
      "cache.read-only",
      .list(of: .path),
      \.cache.readOnly,
      "further places to look in, which must be there: folders of caches, or of files that an app or an export named by the "
        + "MD5 of their URLs"
    )
    JobKey(
      "cache.key",
      .keyRule,
      \.cache.key,
      isInDigest: true,
      opens: { $0.cache.key = .droppingQuery([]) },
      "what of a URL tells images apart"
    )
    JobKey(
      "cache.key.drop-query",
      .list(of: .text(.parameter)),
      \.cache.key.droppedParameters,
      example: "[utm_source]",
      isRequired: true,
      "parameters of the query that do not count"
    )
    JobKey("cache.verify-hits", .boolean, \.cache.verifiesHits, "true: read every hit's body and check its sum")
  }
}

extension JobCodec<CacheMode> {
  static var cacheMode: JobCodec {
    words("a cache mode", ["use": .use, "bypass": .bypass, "only": .only, "refresh": .refresh])
  }
}

extension JobCodec<KeyRule> {
  fileprivate static var keyRule: JobCodec {
    JobCodec(.wordOrSection(["url", "url-without-query"], example: "{drop-query: [utm_source]}")) { read in
      if case .word("url") = read { .url } else { .urlWithoutQuery }
    } text: { rule in
      switch rule {
      case .url: "url"
      case .urlWithoutQuery: "url-without-query"
      case .droppingQuery: "{drop-query: [\(rule.droppedParameters.joined(separator: ", "))]}"
      }
    }
  }
}

extension KeyRule {
  fileprivate var droppedParameters: [String] {
    get { if case .droppingQuery(let names) = self { names.sorted() } else { [] } }
    set { self = .droppingQuery(Set(newValue)) }
  }
}
