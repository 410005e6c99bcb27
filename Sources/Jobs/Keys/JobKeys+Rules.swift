internal import ImageCaching
internal import ImageCoding
internal import ImageManaging
internal import Base
internal import Lists
internal import Reports

extension JobKeys {
  /// The formats that can be verified; AVIF if it was built in.
  private static let decodedFormats = ImageFormat.allCases.filter { ImageCoderRegistry.standard.coder(for: $0) != nil }

  @JobKeyList static var verify: [JobKey] {
    JobKey("verify", "the rules for valid images")
    JobKey(
      "verify.decode",
      .choice("a depth", ProofDepth.allCases, \.name),
      \.verify.rules.depth,
      isInDigest: true,
      "verify nothing, the header, or every pixel"
    )
    JobKey(
      "verify.strict",
      .boolean,
      \.verify.rules.isStrict,
      isAdvanced: true,
      isInDigest: true,
      "fail on decoder warnings; implies decode: full"
    )
    JobKey(
      "verify.content-type",
      .words("a rule", ["match": .match, "exact": .exact, "ignore": .ignore]),
      \.verify.rules.contentType,
      isInDigest: true,
      "compare Content-Type with the bytes; match allows generic types"
    )
    JobKey(
      "verify.formats",
      .or("any", .formats(decodedFormats)),
      \.verify.rules.formats,
      isInDigest: true,
      "the allowed formats"
    )
    JobKey("verify.width", "the allowed width in pixels")
    JobKey("verify.width.min", .integer(0...Int.max), \.verify.rules.width.minimum, isInDigest: true, "the minimum")
    JobKey("verify.width.max", .orNone(.integer(0...Int.max)), \.verify.rules.width.maximum, isInDigest: true, "the maximum")
    JobKey("verify.height", "the allowed height in pixels")
    JobKey("verify.height.min", .integer(0...Int.max), \.verify.rules.height.minimum, isInDigest: true, "the minimum")
    JobKey("verify.height.max", .orNone(.integer(0...Int.max)), \.verify.rules.height.maximum, isInDigest: true, "the maximum")
    JobKey(
      "verify.max-pixels",
      .word("none", means: .max, or: .pixels(1...Int.max)),
      \.verify.rules.maximumPixels,
      isAdvanced: true,
      isInDigest: true,
      "the maximum of width times height"
    )
    JobKey("verify.bytes", "the allowed size of the body")
    JobKey("verify.bytes.min", .size(0...Int.max), \.verify.rules.bytes.minimum, isInDigest: true, "the minimum")
    JobKey("verify.bytes.max", .orNone(.size(0...Int.max)), \.verify.rules.bytes.maximum, isInDigest: true, "the maximum")
    JobKey(
      "verify.animated",
      .words("a rule", ["allow": .allow, "forbid": .forbid, "require": .require]),
      \.verify.rules.animated,
      isInDigest: true,
      "animated images"
    )
    JobKey(
      "verify.placeholders",
      .words("a rule", ["ignore": .ignore, "report": .report, "fail": .fail]),
      \.verify.placeholders,
      isInDigest: true,
      "the same bytes from ten URLs of a host; fail: from the tenth on"
    )
    JobKey(
      "verify.remote-cache",
      .words("a rule", ["ignore": .ignore, "report": .report, "hit": .hit]),
      \.remoteCache,
      isInDigest: true,
      "request images again for the CDN's cache status; hit: require hits"
    )
  }

  @JobKeyList static var transform: [JobKey] {
    JobKey(
      "transform",
      .section(
        or: "none",
        example: "{resize: {width: 400, height: none, fit: inside}, format: auto, quality: 85, keep-original: false}"
      ),
      \.transform,
      opens: { $0.transform = Job.Transform() },
      "resize images and store the results instead of the originals"
    )
    JobKey("transform.resize", "the new size; without width and height, the size is kept")
    JobKey(
      "transform.resize.width",
      .orNone(.integer(1...65_535)),
      \.transform!.resize.width,
      "pixels; none: in proportion to the height"
    )
    JobKey(
      "transform.resize.height",
      .orNone(.integer(1...65_535)),
      \.transform!.resize.height,
      "pixels; none: in proportion to the width"
    )
    JobKey(
      "transform.resize.fit",
      .words("a fit", ["inside": .inside, "cover": .cover, "fill": .fill]),
      \.transform!.resize.fit,
      "inside: never enlarge; cover: crop; fill: stretch"
    )
    JobKey(
      "transform.format",
      .words("a format", ["auto": nil, "jpeg": .jpeg, "png": .png, "webp": .webp, "avif": .avif]),
      \.transform!.encoding.format,
      "auto: keep the format if it can be written"
    )
    JobKey("transform.quality", .integer(1...100), \.transform!.encoding.options.quality, "the quality of jpeg, webp and avif")
    JobKey("transform.keep-original", .boolean, \.transform!.keepsOriginal, "store the original, too")
  }

  @JobKeyList static var blacklist: [JobKey] {
    JobKey("blacklist", "URLs that failed permanently and are skipped")
    JobKey("blacklist.enabled", .boolean, \.blacklist.isEnabled, "read and write the blacklist")
    JobKey(
      "blacklist.retry",
      .boolean,
      \.blacklist.retriesFailed,
      "request blacklisted URLs; success removes them from the blacklist"
    )
    JobKey(
      "blacklist.ttl",
      .orNone(.duration(minimum: .zero)),
      \.cache.disk.blacklistTTL,
      "remove URLs from the blacklist after this time"
    )
    JobKey(
      "blacklist.statuses",
      .statuses(100...599),
      \.blacklist.statuses,
      isAdvanced: true,
      "HTTP statuses that count as permanent failures"
    )
  }
}

extension JobCodec<Set<ImageFormat>> {
  fileprivate static func formats(_ formats: [ImageFormat]) -> JobCodec {
    JobCodec<[ImageFormat]>.list(of: .choice("a format", formats, \.name))
      .map {
        Set($0)
      } from: {
        $0.sorted { $0.name < $1.name }
      }
  }
}
