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
    JobKey("verify.decode", "verify nothing, the header, or every pixel")
      .value(.choice("a depth", ProofDepth.allCases, \.name), \.verify.rules.depth, .inDigest)
    JobKey("verify.strict", "fail on decoder warnings; implies decode: full")
      .value(.boolean, \.verify.rules.isStrict, [.advanced, .inDigest])
    JobKey("verify.content-type", "compare Content-Type with the bytes; match allows generic types")
      .value(.words("a rule", ["match": .match, "exact": .exact, "ignore": .ignore]), \.verify.rules.contentType, .inDigest)
    JobKey("verify.formats", "the allowed formats")
      .value(.or("any", .formats(decodedFormats)), \.verify.rules.formats, .inDigest)
    JobKey("verify.width", "the allowed width in pixels")
    JobKey("verify.width.min", "the minimum")
      .value(.integer(0...Int.max), \.verify.rules.width.minimum, .inDigest)
    JobKey("verify.width.max", "the maximum")
      .value(.orNone(.integer(0...Int.max)), \.verify.rules.width.maximum, .inDigest)
    JobKey("verify.height", "the allowed height in pixels")
    JobKey("verify.height.min", "the minimum")
      .value(.integer(0...Int.max), \.verify.rules.height.minimum, .inDigest)
    JobKey("verify.height.max", "the maximum")
      .value(.orNone(.integer(0...Int.max)), \.verify.rules.height.maximum, .inDigest)
    JobKey("verify.max-pixels", "the maximum of width times height")
      .value(.word("none", means: .max, or: .pixels(1...Int.max)), \.verify.rules.maximumPixels, [.advanced, .inDigest])
    JobKey("verify.bytes", "the allowed size of the body")
    JobKey("verify.bytes.min", "the minimum")
      .value(.size(0...Int.max), \.verify.rules.bytes.minimum, .inDigest)
    JobKey("verify.bytes.max", "the maximum")
      .value(.orNone(.size(0...Int.max)), \.verify.rules.bytes.maximum, .inDigest)
    JobKey("verify.animated", "animated images")
      .value(.words("a rule", ["allow": .allow, "forbid": .forbid, "require": .require]), \.verify.rules.animated, .inDigest)
    JobKey("verify.placeholders", "the same bytes from ten URLs of a host; fail: from the tenth on")
      .value(.words("a rule", ["ignore": .ignore, "report": .report, "fail": .fail]), \.verify.placeholders, .inDigest)
    JobKey("verify.remote-cache", "request images again for the CDN's cache status; hit: require hits")
      .value(.words("a rule", ["ignore": .ignore, "report": .report, "hit": .hit]), \.remoteCache, .inDigest)
  }

  @JobKeyList static var transform: [JobKey] {
    JobKey("transform", "resize images and store the results instead of the originals")
      .value(
        .section(
          or: "none",
          example: "{resize: {width: 400, height: none, fit: inside}, format: auto, quality: 85, keep-original: false}"
        ),
        \.transform
      ) {
        $0.transform = Job.Transform()
      }
    JobKey("transform.resize", "the new size; without width and height, the size is kept")
    JobKey("transform.resize.width", "pixels; none: in proportion to the height")
      .value(.orNone(.integer(1...65_535)), \.transform!.resize.width)
    JobKey("transform.resize.height", "pixels; none: in proportion to the width")
      .value(.orNone(.integer(1...65_535)), \.transform!.resize.height)
    JobKey("transform.resize.fit", "inside: never enlarge; cover: crop; fill: stretch")
      .value(.words("a fit", ["inside": .inside, "cover": .cover, "fill": .fill]), \.transform!.resize.fit)
    JobKey("transform.format", "auto: keep the format if it can be written")
      .value(
        .words("a format", ["auto": nil, "jpeg": .jpeg, "png": .png, "webp": .webp, "avif": .avif]),
        \.transform!.encoding.format
      )
    JobKey("transform.quality", "the quality of jpeg, webp and avif")
      .value(.integer(1...100), \.transform!.encoding.options.quality)
    JobKey("transform.keep-original", "store the original, too")
      .value(.boolean, \.transform!.keepsOriginal)
  }

  @JobKeyList static var blacklist: [JobKey] {
    JobKey("blacklist", "URLs that failed permanently and are skipped")
    JobKey("blacklist.enabled", "read and write the blacklist")
      .value(.boolean, \.blacklist.isEnabled)
    JobKey("blacklist.retry", "request blacklisted URLs; success removes them from the blacklist")
      .value(.boolean, \.blacklist.retriesFailed)
    JobKey("blacklist.ttl", "remove URLs from the blacklist after this time")
      .value(.orNone(.duration(minimum: .zero)), \.cache.disk.blacklistTTL)
    JobKey("blacklist.statuses", "HTTP statuses that count as permanent failures")
      .value(.statuses(100...599), \.blacklist.statuses, .advanced)
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
