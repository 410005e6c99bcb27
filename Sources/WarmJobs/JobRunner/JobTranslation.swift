import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import ImagePrimitives
import ImageURLs
import Manifests
import Reports

extension Job {
  fileprivate var verificationRules: VerificationRules {
    VerificationRules(
      // Of a HEAD there is nothing to decode.
      depth: request.method == .head ? .none : verify.isStrict ? .full : verify.decode,
      isStrict: verify.isStrict,
      contentType: verify.contentType.rule,
      formats: verify.formats,
      width: VerificationRules.Bounds(minimum: verify.width.minimum, maximum: verify.width.maximum),
      height: VerificationRules.Bounds(minimum: verify.height.minimum, maximum: verify.height.maximum),
      maximumPixels: verify.maxPixels ?? .max,
      bytes: VerificationRules.Bounds(minimum: verify.bytes.minimum, maximum: verify.bytes.maximum),
      animated: verify.animated.rule,
      requiresRemoteHit: verify.remoteCache == .hit,
      placeholderURLs: verify.placeholders == .fail ? DuplicateIndex.placeholderURLs : nil
    )
  }
}

extension Job.Manifest {
  /// The manifest as its reader takes it, in a run that begins at `now`.
  ///
  /// - Parameter inlineName: what reports call URLs that stand in no list of their own.
  func readable(now: Timestamp, inlineName: String) -> Manifests.Manifest {
    var manifest =
      switch source {
      case .path(let path): Manifests.Manifest(path.manifestSource, name: path.written)
      case .standardInput: Manifests.Manifest(.standardInput, name: "-")
      case .url(let url): Manifests.Manifest(.url(url), name: url.shown)
      case .inline(let urls):
        Manifests.Manifest(
          .inline(urls.map { Manifests.Manifest.InlineEntry(text: $0.url, line: UInt64(clamping: $0.line)) }),
          name: inlineName
        )
      }
    manifest.format = format.readable
    manifest.priority = priority
    manifest.baseURL = baseURL
    manifest.columns = Manifests.Manifest.Columns(url: columns.url, priority: columns.priority)
    manifest.include = include
    manifest.exclude = exclude
    manifest.limit = limit
    manifest.newerThan = newerThan.map { now.advanced(by: .zero - $0) }
    manifest.usesSitemapPriority = usesSitemapPriority
    return manifest
  }
}

extension BaseURL {
  /// As reports show it.
  var shown: String { String(decoding: bytes.withUnsafeBytes { maskingCredentials($0) }, as: UTF8.self) }
}

extension Job.Manifest.Format {
  fileprivate var readable: Manifests.Manifest.Format {
    switch self {
    case .auto: .auto
    case .text: .text
    case .csv: .csv
    case .tsv: .tsv
    case .jsonl: .jsonl
    case .sitemap: .sitemap
    case .combined: .combined
    }
  }
}

extension Job {
  /// How manifests are fetched: as the images, but that all of a text is wanted and nothing is judged by images' rules.
  var manifestDownloadOptions: DownloadOptions {
    downloadOptions.fetchingText(
      accept: "application/xml,text/xml,*/*;q=0.8",
      maxBytes: JobManifestFetcher.maximumBytes
    )
  }
}

extension JobPath {
  /// A file or a pattern; of a pattern, characters of the folder's own name stand for themselves.
  fileprivate var manifestSource: Manifests.Manifest.Source {
    guard case .glob = Manifests.Manifest.Source(path: written) else { return .file(absolute) }
    let escaped = folder.reduce(into: "") { text, character in
      if "*?[\\".contains(character) { text += "\\" }
      text.append(character)
    }
    return .glob(JobPath(written, in: escaped).absolute)
  }
}

extension Job {
  /// The rules that the finished report is judged by.
  var failOnRules: Reports.FailOn {
    var rules = Reports.FailOn()
    rules.failures = failOn.failures.limit
    rules.kinds = failOn.kinds.mapValues(\.limit)
    rules.latency = failOn.latency
    rules.empty = failOn.empty
    rules.unfinished = failOn.unfinished
    rules.evicted = failOn.evicted
    return rules
  }
}

extension Job.FailOn.Threshold {
  fileprivate var limit: Reports.FailOn.Limit {
    switch self {
    case .count(let count): .count(UInt64(clamping: count))
    case .fraction(let fraction): .fraction(fraction)
    case .never: .never
    }
  }
}

extension Job.ReportTarget.Destination {
  /// The path as report files take it: `-` is standard output.
  var path: String {
    switch self {
    case .standardOutput: "-"
    case .file(let path): path.absolute
    }
  }
}

extension Job.Verify.ContentType {
  fileprivate var rule: VerificationRules.ContentTypeRule {
    switch self {
    case .match: .match
    case .exact: .exact
    case .ignore: .ignore
    }
  }
}

extension Job.Verify.Animated {
  fileprivate var rule: VerificationRules.AnimationRule {
    switch self {
    case .allow: .allow
    case .forbid: .forbid
    case .require: .require
    }
  }
}

extension Job {
  fileprivate var layers: CacheLayerUse {
    var layers = CacheLayerUse()
    if let transform, !transform.keepsOriginal { layers.writesOriginal = [] }
    return layers
  }
}

extension Job.Transform {
  fileprivate var encoding: TransformEncoding {
    let format: ImageFormat? =
      switch format {
      case .auto: nil
      case .jpeg: .jpeg
      case .png: .png
      case .webp: .webp
      }
    return TransformEncoding(format: format, options: EncodingOptions(quality: quality))
  }
}

extension Job {
  /// What a cache knows the image by that this job makes of the one of `identity`; nil where it stores images as they come.
  public func transformedIdentity(of identity: [UInt8]) -> [UInt8]? {
    let parts = LoadContext.Parts(transformer: transform?.resize?.transformer, encoding: transform?.encoding)
    return ImageIdentity.transformed(identity, by: parts)
  }
}

extension Job.Transform.Resize {
  fileprivate var transformer: ResizingTransformer {
    let fit: ResizingTransformer.Fit =
      switch fit {
      case .inside: .inside
      case .cover: .cover
      case .fill: .fill
      }
    return ResizingTransformer(width: width, height: height, fit: fit)
  }
}

extension Job.Cache.Mode {
  fileprivate var cacheMode: CacheMode {
    switch self {
    case .use: .use
    case .bypass: .bypass
    case .only: .only
    case .refresh: .refresh
    }
  }
}

extension Job.Cache.Mode {
  /// The mode that tells what this one would ask for.
  fileprivate var dryRunMode: CacheMode {
    switch self {
    case .use, .bypass: .dryRun
    case .only: .only
    case .refresh: .refreshDryRun
    }
  }
}

extension Job {
  /// What gathers pictures for the HTML report; nil where the job has none.
  func makeContactSheet(_ configuration: ImageManager.Configuration, openFiles: Int) -> ContactSheet? {
    guard reports.contains(where: { $0.format == .html }) else { return nil }
    let maker = PictureMaker(
      coders: configuration.coders,
      maximumPixels: verify.maxPixels ?? .max,
      budget: configuration.decodingBudget
    )
    return ContactSheet(maker, findsPlaceholders: verify.placeholders != .ignore, openFiles: openFiles)
  }
}

extension LoadContext {
  /// What a job asks of its loads; in a dry run the network is never asked, and what it would be asked for is skipped.
  convenience init(
    _ stores: JobStores,
    coders: ImageCoderRegistry,
    memory: ImageMemory?,
    observer: (any ImageObserver)?,
    startedAt: Timestamp,
    isDryRun: Bool
  ) {
    let job = stores.job
    self.init(
      cache: stores.cache,
      download: job.downloadOptions,
      parts: Parts(
        mode: isDryRun ? job.cache.mode.dryRunMode : job.cache.mode.cacheMode,
        readOnly: stores.readOnlyCaches,
        memory: memory,
        layers: job.layers,
        keyRule: job.keyRule,
        verifiesHits: job.cache.verifiesHits,
        transformer: job.transform?.resize?.transformer,
        encoding: job.transform?.encoding,
        coders: coders,
        variants: job.loadVariants,
        verification: job.verificationRules,
        blacklist: BlacklistRules(
          isEnabled: job.blacklist.isEnabled,
          retriesFailed: job.blacklist.retry,
          statuses: job.blacklist.statuses
        ),
        observer: observer
      ),
      startedAt: startedAt
    )
  }
}
