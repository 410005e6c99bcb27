internal import ImageCaching
internal import ImageManaging

extension JobKeys {
  @JobKeyList static var cache: [JobKey] {
    JobKey("cache", "the image cache: its folder, lifetime and size")
    JobKey(
      "cache.directory",
      // The environment decides which folder the default is.
      .word("default", means: "", or: JobCodec.path.map(\.absolute, from: { JobPath($0, in: "/") })),
      \.cache.disk.directory,
      "the folder of caches: $PREWARM_CACHE_DIR, else ~/.cache/prewarm"
    )
    JobKey("cache.namespace", .text(.namespace), \.cache.disk.namespace, "use a separate cache within the folder")
    JobKey(
      "cache.mode",
      .cacheMode,
      \.cache.mode,
      isInDigest: true,
      "bypass: no cache; only: no network; refresh: revalidate everything"
    )
    JobKey(
      "cache.freshness",
      .words("a rule of freshness", ["age": .age, "http": .http]),
      \.cache.disk.freshness,
      "age: expire after max-age; http: by server headers, else max-age"
    )
    JobKey(
      "cache.max-age",
      .orNone(.duration(minimum: .zero)),
      \.cache.disk.maxAge,
      "expire entries after this time"
    )
    JobKey(
      "cache.min-fresh",
      .duration(minimum: .zero),
      \.cache.disk.minFresh,
      "request entries that expire within this time"
    )
    JobKey(
      "cache.max-size",
      .orNone(.size(0...Int.max)),
      \.cache.disk.maxSize,
      "limit the size of bodies; the oldest entries are evicted"
    )
    JobKey(
      "cache.trim-to",
      .percentage,
      \.cache.disk.trimTo,
      isAdvanced: true,
      "the part of max-size that is left after eviction"
    )
    JobKey(
      "cache.expire-by",
      .words("a time", ["modification": .modification, "access": .access]),
      \.cache.disk.expireBy,
      isAdvanced: true,
      "count ages from the last modification or the last access"
    )
    JobKey(
      "cache.memory",
      .section(or: "off", example: "{max-cost: 256MiB, max-count: none}"),
      \.cache.memory,
      isAdvanced: true,
      opens: { $0.cache.memory = Job.Cache.Memory() },
      "keep decoded images in memory; jobs with equal limits share it"
    )
    JobKey(
      "cache.memory.max-cost",
      .orNone(.size(1...Int.max)),
      \.cache.memory!.maxCost,
      isAdvanced: true,
      "limit the bytes of pixels"
    )
    JobKey(
      "cache.memory.max-count",
      .orNone(.integer(1...Int.max)),
      \.cache.memory!.maxCount,
      isAdvanced: true,
      "limit the number of images"
    )
    JobKey(
      "cache.read-only",
      .list(of: .path),
      \.cache.readOnly,
      isAdvanced: true,
      "also read these caches, or folders of files named by the MD5 of URLs"
    )
    JobKey(
      "cache.key",
      .keyRule,
      \.cache.key,
      isAdvanced: true,
      isInDigest: true,
      opens: { $0.cache.key = .droppingQuery([]) },
      "ignore the query, or some of its parameters, in cache keys"
    )
    JobKey(
      "cache.key.drop-query",
      .list(of: .text(.parameter)),
      \.cache.key.droppedParameters,
      example: "[utm_source]",
      isRequired: true,
      isAdvanced: true,
      "query parameters to ignore"
    )
    JobKey(
      "cache.verify-hits",
      .boolean,
      \.cache.verifiesHits,
      isAdvanced: true,
      "read the body of each hit and verify its checksum"
    )
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
