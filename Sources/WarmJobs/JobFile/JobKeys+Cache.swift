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
      .choice("a cache mode", Job.Cache.Mode.self, later: ["refresh"]),
      default: "use",
      "bypass: always fetch, cache and blacklist neither read nor written; only: never the network"
    ),
    JobKey(
      "cache.freshness",
      .choice(noun: "a rule of freshness", words: ["age"], later: ["http"]),
      default: "age",
      "what makes an entry fresh"
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
      works: false,
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
      .planned("off | {max-cost: SIZE, max-count: COUNT}"),
      default: "off",
      works: false,
      "a layer of decoded images"
    ),
    JobKey("cache.read-only", .planned("[PATH]"), default: "[]", works: false, "further caches to look in"),
    JobKey(
      "cache.key",
      .planned("url | url-without-query | {drop-query: [NAME]}"),
      default: "url",
      works: false,
      "what of a URL tells images apart"
    ),
    JobKey("cache.verify-hits", .boolean, default: "false", works: false, "true: read every hit's body and check its sum"),
  ]
}
