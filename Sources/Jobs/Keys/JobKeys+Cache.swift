internal import ImageDownloading
internal import ImageCaching
internal import ImageManaging

extension JobKeys {
  @JobKeyList static var cache: [JobKey] {
    JobKey("cache", "the image cache: its folder, lifetime and size")
    JobKey("cache.directory", "the folder of caches: $PREWARM_CACHE_DIR, else ~/.cache/prewarm")
      // The environment decides which folder the default is.
      .value(
        .word("default", means: "", or: JobCodec.path.map(\.absolute, from: { JobPath($0, in: "/") })),
        \.cache.disk.directory
      )
    JobKey("cache.namespace", "use a separate cache within the folder")
      .value(.text(.namespace), \.cache.disk.namespace)
    JobKey("cache.mode", "bypass: no cache; only: no network; refresh: revalidate everything")
      .value(.cacheMode, \.cache.mode, .inDigest)
    JobKey("cache.freshness", "age: expire after max-age; http: by server headers, else max-age")
      .value(.words("a rule of freshness", ["age": .age, "http": .http]), \.cache.disk.freshness)
    JobKey("cache.max-age", "expire entries after this time")
      .value(.orNone(.duration(minimum: .zero)), \.cache.disk.maxAge)
    JobKey("cache.min-fresh", "request entries that expire within this time")
      .value(.duration(minimum: .zero), \.cache.disk.minFresh)
    JobKey("cache.max-size", "limit the size of bodies; the oldest entries are evicted")
      .value(.orNone(.size(0...Int.max)), \.cache.disk.maxBodyBytes)
    JobKey("cache.trim-to", "the part of max-size that is left after eviction")
      .value(.percentage, \.cache.disk.trimTo, .advanced)
    JobKey("cache.expire-by", "count ages from the last modification or the last access")
      .value(.words("a time", ["modification": .modification, "access": .access]), \.cache.disk.expireBy, .advanced)
    JobKey("cache.memory", "keep decoded images in memory; jobs with equal limits share it")
      .value(.section(or: "off", example: "{max-cost: 256MiB, max-count: none}"), \.cache.memory, .advanced) {
        $0.cache.memory = Job.Cache.Memory()
      }
    JobKey("cache.memory.max-cost", "limit the bytes of pixels")
      .value(.orNone(.size(1...Int.max)), \.cache.memory!.maxCost, .advanced)
    JobKey("cache.memory.max-count", "limit the number of images")
      .value(.orNone(.integer(1...Int.max)), \.cache.memory!.maxCount, .advanced)
    JobKey("cache.read-only", "also read these caches, or folders of files named by the MD5 of URLs")
      .value(.list(of: .path), \.cache.readOnly, .advanced)
    JobKey("cache.key", "ignore the query, or some of its parameters, in cache keys")
      .value(.keyRule, \.cache.key, [.advanced, .inDigest], opens: { $0.cache.key = .droppingQuery([]) })
    JobKey("cache.key.drop-query", "query parameters to ignore")
      .value(.list(of: .text(.parameter)), \.cache.key.droppedParameters, [.required, .advanced], example: "[utm_source]")
    JobKey("cache.share-across-credentials", "cache images for all credentials, whatever their server allows")
      .value(.boolean, \.request.download.sharesAcrossCredentials, [.advanced, .inDigest])
    JobKey("cache.verify-hits", "read the body of each hit and verify its checksum")
      .value(.boolean, \.cache.verifiesHits, .advanced)
  }
}

extension JobCodec<CacheMode> {
  static var cacheMode: JobCodec {
    words("a cache mode", ["use": .use, "bypass": .bypass, "only": .only, "refresh": .refresh])
  }
}

extension JobCodec<KeyRule> {
  fileprivate static var keyRule: JobCodec {
    scalar(.wordOrSection(["url", "url-without-query"], example: "{drop-query: [utm_source]}")) { read in
      read.text == "url" ? .url : read.text == "url-without-query" ? .urlWithoutQuery : nil
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
