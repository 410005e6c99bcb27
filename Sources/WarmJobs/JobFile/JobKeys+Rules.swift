internal import ImageCoding
internal import ImageManaging
internal import ImagePrimitives
internal import Manifests
internal import Reports

extension JobKeys {
  private static let length = JobValueType.integer(0...Int.max)
  private static let size = JobValueType.size(0...Int.max)

  /// The formats that can be told good or bad; AVIF where it was built in.
  private static let decodedFormats = ImageFormat.allCases
    .filter { ImageCoderRegistry.standard.coder(for: $0) != nil }
    .map(\.name)

  static let verify: [JobKey] = [
    JobKey("verify", .section, "what makes the bytes that came a good image"),
    JobKey(
      "verify.decode",
      .choice(noun: "a depth", words: ProofDepth.allCases.map(\.name), later: []),
      default: "header",
      "how deeply an image is proven good"
    ),
    JobKey("verify.strict", .boolean, default: "false", "a decoder's warning is a failure; every image is decoded in full"),
    JobKey(
      "verify.content-type",
      .choice("a rule", Job.Verify.ContentType.self),
      default: "match",
      "the declared type against the bytes' own; match lets absent and generic types and aliases pass with a warning"
    ),
    JobKey(
      "verify.formats",
      .either(word: "any", .list(of: .choice(noun: "a format", words: decodedFormats, later: []))),
      default: "any",
      "the formats that are good"
    ),
    JobKey("verify.width", .section, "pixels, bounds included"),
    JobKey("verify.width.min", length, default: "1", "the least"),
    JobKey("verify.width.max", .orNone(length), default: "none", "the most"),
    JobKey("verify.height", .section, "pixels, bounds included"),
    JobKey("verify.height.min", length, default: "1", "the least"),
    JobKey("verify.height.max", .orNone(length), default: "none", "the most"),
    JobKey("verify.max-pixels", .orNone(.pixels(1...Int.max)), default: "100MP", "width times height"),
    JobKey("verify.bytes", .section, "of the body, bounds included"),
    JobKey("verify.bytes.min", size, default: "1", "the least"),
    JobKey("verify.bytes.max", .orNone(size), default: "none", "the most"),
    JobKey(
      "verify.animated",
      .choice("a rule", Job.Verify.Animated.self),
      default: "allow",
      "moving images"
    ),
    JobKey(
      "verify.placeholders",
      .choice("a rule", Job.Verify.Placeholders.self),
      default: "report",
      "the same bytes from ten URLs of a host; fail: a failure from the tenth on"
    ),
    JobKey(
      "verify.remote-cache",
      .choice("a rule", Job.Verify.RemoteCache.self),
      default: "ignore",
      "what a CDN says of a second request for what was fetched; hit: anything else fails"
    ),
  ]

  static let transform: [JobKey] = [
    JobKey(
      "transform",
      .wordOrSection(
        ["none"],
        example: "{resize: {width: 400, height: none, fit: inside}, format: auto, quality: 85, keep-original: false}"
      ),
      default: "none",
      "what is stored instead of the original: resized, to lie inside the box and never enlarged, to cover it, or to fill it; "
        + "as jpeg, png, webp, or auto: as it came"
    ),
    JobKey("transform.resize", .section, "the new size; neither side: as it is"),
    JobKey("transform.resize.width", .orNone(.integer(1...65_535)), default: "none", "pixels; none: as the height has it"),
    JobKey("transform.resize.height", .orNone(.integer(1...65_535)), default: "none", "pixels; none: as the width has it"),
    JobKey(
      "transform.resize.fit",
      .choice("a fit", Job.Transform.Fit.self),
      default: "inside",
      "inside: never enlarged; cover: what is beyond is cut off; fill: stretched"
    ),
    JobKey(
      "transform.format",
      .choice("a format", Job.Transform.Format.self),
      default: "auto",
      "auto: as it came, where that can be"
    ),
    JobKey("transform.quality", .integer(1...100), default: "85", "of jpeg and webp"),
    JobKey("transform.keep-original", .boolean, default: "false", "true: the original is stored too"),
  ]

  static let blacklist: [JobKey] = [
    JobKey("blacklist", .section, "what is remembered as bad for good, and not asked again"),
    JobKey("blacklist.enabled", .boolean, default: "true", "whether it is read and written"),
    JobKey("blacklist.retry", .boolean, default: "false", "true: ask anyway; a success takes the URL off"),
    JobKey("blacklist.ttl", .orNone(.duration(minimum: .zero)), default: "6h", "how long a URL stays on it"),
    JobKey(
      "blacklist.statuses",
      .statuses(100...599),
      default: "[400, 404-406, 410-415, 417, 422, 451]",
      "which HTTP statuses are for good"
    ),
  ]

  static let report: [JobKey] = [
    JobKey(
      "report",
      .entries(exactlyOneOf: ReportFormat.allCases.map(\.rawValue), minimum: 0),
      default: #"[{text: "-"}]"#,
      "reports, each with a path, or '-' for standard output"
    ),
    JobKey("report[].text", .text(.path), example: #""-""#, "for a person"),
    JobKey("report[].json", .text(.path), example: "reports/homepage.json", "prewarm.report/1"),
    JobKey("report[].jsonl", .text(.path), example: "reports/homepage.jsonl", "a JSON object an entry"),
    JobKey("report[].csv", .text(.path), example: "reports/homepage.csv", "a row an entry"),
    JobKey(
      "report[].junit",
      .textOrSection(.path, example: "{path: reports/junit.xml, successes: true}"),
      example: "reports/junit.xml",
      "JUnit's XML, for CI; successes: what was good, too"
    ),
    JobKey("report[].junit.path", .text(.path), example: "reports/junit.xml", isRequired: true, "the file"),
    JobKey("report[].junit.successes", .boolean, default: "false", "whether what was good is listed, too"),
    JobKey("report[].markdown", .text(.path), example: "reports/homepage.md", "for pull requests and summaries"),
    JobKey(
      "report[].github",
      .text(.path),
      example: #""-""#,
      "annotations of GitHub Actions; the summary goes to $GITHUB_STEP_SUMMARY"
    ),
    JobKey("report[].html", .text(.path), example: "reports/homepage.html", "one page that needs nothing else"),
    JobKey("report[].prometheus", .text(.path), example: "reports/homepage.prom", "for the node exporter's text-file collector"),
    JobKey(
      "shard-by",
      .choice("a rule", Shard.Rule.self),
      default: "url",
      "what --shard cuts the entries by; url: into like parts, which share the rates; host: a host is one shard's own"
    ),
  ]

  static let failOn: [JobKey] = [
    JobKey("fail-on", .section, "what makes the exit status 2: any rule broken; 'never' switches one off"),
    JobKey(
      "fail-on.failures",
      .either(word: "never", .countOrPercentage),
      default: "0",
      "more than this many failed or blacklisted entries; or a percentage of what was neither skipped nor cancelled"
    ),
    JobKey("fail-on.empty", .either(word: "never", .boolean), default: "true", "no entry left after include and exclude"),
    JobKey("fail-on.unfinished", .either(word: "never", .boolean), default: "true", "the deadline cancelled something"),
    JobKey(
      "fail-on.evicted",
      .either(word: "never", .boolean),
      default: "true",
      "trimming had to remove what this very run stored"
    ),
    JobKey(
      "fail-on.kinds",
      .limits(noun: "a kind of failure", names: FailureKind.allCases.map(\.name), .either(word: "never", .countOrPercentage)),
      default: "{}",
      "limits by kind of failure, such as {http-status: 1%, dns: 0}, beside failures"
    ),
    JobKey(
      "fail-on.latency",
      .limits(
        noun: "a percentile",
        names: FailOn.Percentile.allCases.map(\.rawValue),
        .either(word: "never", .duration(minimum: .milliseconds(1)))
      ),
      default: "{}",
      "how long transfers may take, such as {p99: 2s}"
    ),
    JobKey(
      "fail-on.baseline",
      .orNone(.text(.path)),
      default: "none",
      "an earlier report, as JSON Lines, or as JSON that omits no failure: what failed there does not count"
    ),
  ]
}
