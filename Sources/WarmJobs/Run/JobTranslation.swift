import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import ImagePrimitives
import Reports

// A job as the modules take it that do the work: most of it as it stands, and what follows from several keys.
extension Job {
  /// How the job's entries are fetched, but for variants and edges.
  var downloadOptions: DownloadOptions {
    request.download.with {
      $0.acceptStatus = request.acceptStatus.reduce(into: []) { $0.formUnion($1) }
      $0.connection.tls.caFile = request.tls.caFile?.absolute
      $0.connection.tls.clientCertificate = request.tls.clientCertificate?.absolute
      $0.connection.tls.clientKey = request.tls.clientKey?.absolute
    }
  }

  /// How manifests are fetched: as the images, but that all of a text is wanted and nothing is judged by images' rules.
  var manifestDownloadOptions: DownloadOptions {
    downloadOptions.fetchingText(
      accept: "application/xml,text/xml,*/*;q=0.8",
      maxBytes: JobManifestFetcher.maximumBytes
    )
  }

  /// The rules for images, as far as the method fetches something to check.
  private var verificationRules: VerificationRules {
    var rules = verify.rules
    // Of a HEAD there is nothing to decode.
    if request.download.method == .head { rules.depth = .none } else if rules.isStrict { rules.depth = .full }
    rules.placeholderURLs = verify.placeholders == .fail ? DuplicateIndex.placeholderURLs : nil
    return rules
  }

  /// How loads use caches, and what they make of images; a dry run makes no request.
  fileprivate func loadOptions(isDryRun: Bool) -> LoadOptions {
    var layers = CacheLayerUse()
    if let transform, !transform.keepsOriginal { layers.writesOriginal = [] }
    return LoadOptions(
      mode: isDryRun ? cache.mode.ofDryRun : cache.mode,
      layers: layers,
      keyRule: cache.key,
      verifiesHits: cache.verifiesHits,
      isOfRun: true,
      transformer: transform?.resize.transformer,
      encoding: transform?.encoding,
      variants: loadVariants,
      verification: verificationRules,
      blacklist: blacklist,
      wording: JobWording()
    )
  }

  /// The identity of the image that this job makes of the one of `identity`; nil if it stores images as they come.
  public func transformedIdentity(of identity: [UInt8]) -> [UInt8]? {
    let options = LoadOptions(transformer: transform?.resize.transformer, encoding: transform?.encoding)
    return ImageIdentity.transformed(identity, by: options)
  }

  /// Gathers pictures for the HTML report; nil if the job has none.
  func makeContactSheet(_ configuration: ImageManager.Configuration, openFiles: Int) -> ContactSheet? {
    guard reports.contains(where: { $0.format == .html }) else { return nil }
    let maker = PictureMaker(
      coders: configuration.coders,
      maximumPixels: verify.rules.maximumPixels,
      budget: configuration.decodingBudget
    )
    return ContactSheet(maker, findsPlaceholders: verify.placeholders != .ignore, openFiles: openFiles)
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

extension CacheMode {
  /// The mode that reports what this one would request.
  fileprivate var ofDryRun: CacheMode {
    switch self {
    case .only: .only
    case .refresh: .refreshDryRun
    default: .dryRun
    }
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
    var options = stores.job.loadOptions(isDryRun: isDryRun)
    options.readOnly = stores.readOnlyCaches
    options.memory = memory
    options.coders = coders
    options.observer = observer
    self.init(cache: stores.cache, download: stores.job.downloadOptions, options: options, startedAt: startedAt)
  }
}
