extension JobKeys {
  static let cache: [JobKey] = [
    JobKey("cache", .section, "which cache, and how long and how much it keeps"),
    JobKey(
      "cache.directory",
      .either(word: "default", .text(.path)),
      default: "default",
      "default: $PREWARM_CACHE_DIR, else $XDG_CACHE_HOME/prewarm, else ~/.cache/prewarm"
    ),
    JobKey("cache.namespace", .text(.namespace), default: "default", "a cache of its own within the folder"),
    JobKey(
      "cache.mode",
      .choice("a cache mode", Job.Cache.Mode.self),
      default: "use",
      "bypass: always fetch, cache and blacklist neither read nor written; only: never the network; refresh: ask for everything, "
        + "conditionally where it is cached"
    ),
    JobKey(
      "cache.freshness",
      .choice("a rule of freshness", Job.Cache.Freshness.self),
      default: "age",
      "age: an entry is fresh until max-age; http: as long as its server said (Cache-Control, Expires), else until max-age"
    ),
    JobKey(
      "cache.max-age",
      .orNone(.duration(minimum: .zero)),
      default: "7d",
      "how old an entry is still fresh; never too old: none"
    ),
    JobKey(
      "cache.min-fresh",
      .duration(minimum: .zero),
      default: "0s",
      "what would expire sooner than this is fetched again now"
    ),
    JobKey(
      "cache.max-size",
      .orNone(.size(0...Int.max)),
      default: "none",
      "of bodies; beyond it, trimmed oldest first to trim-to"
    ),
    JobKey("cache.trim-to", .percentage, default: "50%", "the part of max-size that trimming leaves"),
    JobKey(
      "cache.expire-by",
      .choice("a time", Job.Cache.ExpireBy.self),
      default: "modification",
      "the time that counts for expiry and trimming"
    ),
    JobKey(
      "cache.memory",
      .wordOrSection(["off"], example: "{max-cost: 256MiB, max-count: none}"),
      default: "off",
      "a layer of decoded images, which the jobs of one run share where its limits are the same"
    ),
    JobKey("cache.memory.max-cost", .orNone(.size(1...Int.max)), default: "256MiB", "bytes of pixels"),
    JobKey("cache.memory.max-count", .orNone(.integer(1...Int.max)), default: "none", "images"),
    JobKey(
      "cache.read-only",
      .list(of: .text(.path)),
      default: "[]",
      "further places to look in, which must be there: folders of caches, or of files that an app or an export named by the "
        + "MD5 of their URLs"
    ),
    JobKey(
      "cache.key",
      .wordOrSection(["url", "url-without-query"], example: "{drop-query: [utm_source]}"),
      default: "url",
      "what of a URL tells images apart"
    ),
    JobKey(
      "cache.key.drop-query",
      .list(of: .text(.parameter)),
      example: "[utm_source]",
      isRequired: true,
      "parameters of the query that do not count"
    ),
    JobKey("cache.verify-hits", .boolean, default: "false", "true: read every hit's body and check its sum"),
  ]
}
