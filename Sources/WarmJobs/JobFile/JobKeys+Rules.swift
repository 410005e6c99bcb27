internal import ImageCaching
internal import ImageCoding
internal import ImageManaging
internal import ImagePrimitives
internal import Manifests
internal import Reports

extension JobKeys {
  /// The formats that can be told good or bad; AVIF where it was built in.
  private static let decodedFormats = ImageFormat.allCases.filter { ImageCoderRegistry.standard.coder(for: $0) != nil }

  @JobKeyList static var verify: [JobKey] {
    JobKey("verify", "what makes the bytes that came a good image")
    JobKey(
      "verify.decode",
      .choice("a depth", ProofDepth.allCases, \.name),
      \.verify.rules.depth,
      isInDigest: true,
      "how deeply an image is proven good"
    )
    JobKey(
      "verify.strict",
      .boolean,
      \.verify.rules.isStrict,
      isInDigest: true,
      "a decoder's warning is a failure; every image is decoded in full"
    )
    JobKey(
      "verify.content-type",
      .words("a rule", ["match": .match, "exact": .exact, "ignore": .ignore]),
      \.verify.rules.contentType,
      isInDigest: true,
      "the declared type against the bytes' own; match lets absent and generic types and aliases pass with a warning"
    )
    JobKey(
      "verify.formats",
      .or("any", .formats(decodedFormats)),
      \.verify.rules.formats,
      isInDigest: true,
      "the formats that are good"
    )
    JobKey("verify.width", "pixels, bounds included")
    JobKey("verify.width.min", .integer(0...Int.max), \.verify.rules.width.minimum, isInDigest: true, "the least")
    JobKey("verify.width.max", .orNone(.integer(0...Int.max)), \.verify.rules.width.maximum, isInDigest: true, "the most")
    JobKey("verify.height", "pixels, bounds included")
    JobKey("verify.height.min", .integer(0...Int.max), \.verify.rules.height.minimum, isInDigest: true, "the least")
    JobKey("verify.height.max", .orNone(.integer(0...Int.max)), \.verify.rules.height.maximum, isInDigest: true, "the most")
    JobKey(
      "verify.max-pixels",
      .word("none", means: .max, or: .pixels(1...Int.max)),
      \.verify.rules.maximumPixels,
      isInDigest: true,
      "width times height"
    )
    JobKey("verify.bytes", "of the body, bounds included")
    JobKey("verify.bytes.min", .size(0...Int.max), \.verify.rules.bytes.minimum, isInDigest: true, "the least")
    JobKey("verify.bytes.max", .orNone(.size(0...Int.max)), \.verify.rules.bytes.maximum, isInDigest: true, "the most")
    JobKey(
      "verify.animated",
      .words("a rule", ["allow": .allow, "forbid": .forbid, "require": .require]),
      \.verify.rules.animated,
      isInDigest: true,
      "moving images"
    )
    JobKey(
      "verify.placeholders",
      .words("a rule", ["ignore": .ignore, "report": .report, "fail": .fail]),
      \.verify.placeholders,
      isInDigest: true,
      "the same bytes from ten URLs of a host; fail: a failure from the tenth on"
    )
    JobKey(
      "verify.remote-cache",
      .words("a rule", ["ignore": .ignore, "report": .report, "hit": .hit]),
      \.remoteCache,
      isInDigest: true,
      "what a CDN says of a second request for what was fetched; hit: anything else fails"
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
      "what is stored instead of the original: resized, to lie inside the box and never enlarged, to cover it, or to fill it; "
        + "as jpeg, png, webp, or auto: as it came"
    )
    JobKey("transform.resize", "the new size; neither side: as it is")
    JobKey(
      "transform.resize.width",
      .orNone(.integer(1...65_535)),
      \.transform!.resize.width,
      "pixels; none: as the height has it"
    )
    JobKey(
      "transform.resize.height",
      .orNone(.integer(1...65_535)),
      \.transform!.resize.height,
      "pixels; none: as the width has it"
    )
    JobKey(
      "transform.resize.fit",
      .words("a fit", ["inside": .inside, "cover": .cover, "fill": .fill]),
      \.transform!.resize.fit,
      "inside: never enlarged; cover: what is beyond is cut off; fill: stretched"
    )
    JobKey(
      "transform.format",
      .words("a format", ["auto": nil, "jpeg": .jpeg, "png": .png, "webp": .webp]),
      \.transform!.encoding.format,
      "auto: as it came, where that can be"
    )
    JobKey("transform.quality", .integer(1...100), \.transform!.encoding.options.quality, "of jpeg and webp")
    JobKey("transform.keep-original", .boolean, \.transform!.keepsOriginal, "true: the original is stored too")
  }

  @JobKeyList static var blacklist: [JobKey] {
    JobKey("blacklist", "what is remembered as bad for good, and not asked again")
    JobKey("blacklist.enabled", .boolean, \.blacklist.isEnabled, "whether it is read and written")
    JobKey("blacklist.retry", .boolean, \.blacklist.retriesFailed, "true: ask anyway; a success takes the URL off")
    JobKey(
      "blacklist.ttl",
      .orNone(.duration(minimum: .zero)),
      \.cache.disk.blacklistTTL,
      "how long a URL stays on it"
    )
    JobKey("blacklist.statuses", .statuses(100...599), \.blacklist.statuses, "which HTTP statuses are for good")
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
