import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import ImagePrimitives
import Reports

// A job as the modules take it that do the work: most of it as it stands, and what follows from several keys.
extension Job {
  /// Longer than any transfer, and short enough for libcurl's milliseconds.
  private static let noLimit = Duration.seconds(20 * 86_400)

  /// How the job's entries are fetched, but for variants and edges.
  var downloadOptions: DownloadOptions {
    DownloadOptions {
      $0.method = request.method
      $0.headers = request.headers.map { DownloadOptions.Header($0.name, $0.value) }
      $0.accept = request.accept
      $0.userAgent = request.userAgent
      $0.credentials = request.auth.map { .fixed($0) }
      $0.handlesCookies = request.keepsCookies
      $0.allowsInvalidTLSCertificates = !request.tls.verifies
      $0.connection = request.connection
      $0.timeout = request.timeout ?? Self.noLimit
      $0.connectTimeout = request.connectTimeout
      $0.stallTimeout = request.stallTimeout ?? Self.noLimit
      $0.retries = request.retries
      $0.backoff = request.backoff
      $0.retryAfterMaximum = request.retryAfterMaximum
      $0.redirects = request.redirects
      $0.acceptStatus = request.acceptStatus.reduce(into: []) { $0.formUnion($1) }
      $0.maxBytes = request.maxBytes ?? .max
      $0.respectsRobots = request.respectsRobots
      $0.checksRemoteCache = verify.remoteCache != .ignore
    }
  }

  /// How manifests are fetched: as the images, but that all of a text is wanted and nothing is judged by images' rules.
  var manifestDownloadOptions: DownloadOptions {
    downloadOptions.fetchingText(
      accept: "application/xml,text/xml,*/*;q=0.8",
      maxBytes: JobManifestFetcher.maximumBytes
    )
  }

  /// What makes an image good, as far as there is something to look at.
  private var verificationRules: VerificationRules {
    var rules = verify.rules
    // Of a HEAD there is nothing to decode.
    if request.method == .head { rules.depth = .none } else if rules.isStrict { rules.depth = .full }
    rules.requiresRemoteHit = verify.remoteCache == .hit
    rules.placeholderURLs = verify.placeholders == .fail ? DuplicateIndex.placeholderURLs : nil
    return rules
  }

  /// What decides how loads use caches, and what they make of what they fetch; in a dry run the network is never asked.
  fileprivate func loadOptions(isDryRun: Bool) -> LoadOptions {
    var layers = CacheLayerUse()
    if let transform, !transform.keepsOriginal { layers.writesOriginal = [] }
    return LoadOptions(
      mode: isDryRun ? cache.mode.ofDryRun : cache.mode,
      layers: layers,
      keyRule: cache.key,
      verifiesHits: cache.verifiesHits,
      transformer: transform?.resize.transformer,
      encoding: transform?.encoding,
      variants: loadVariants,
      verification: verificationRules,
      blacklist: blacklist
    )
  }

  /// What a cache knows the image by that this job makes of the one of `identity`; nil where it stores images as they come.
  public func transformedIdentity(of identity: [UInt8]) -> [UInt8]? {
    let options = LoadOptions(transformer: transform?.resize.transformer, encoding: transform?.encoding)
    return ImageIdentity.transformed(identity, by: options)
  }

  /// What gathers pictures for the HTML report; nil where the job has none.
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

extension Job.Request {
  fileprivate var connection: DownloadOptions.Connection {
    var connection = DownloadOptions.Connection()
    connection.httpVersion = httpVersion
    connection.connectTo = connectTo
    connection.proxy = proxy
    connection.tls.caFile = tls.caFile?.absolute
    connection.tls.clientCertificate = tls.clientCertificate?.absolute
    connection.tls.clientKey = tls.clientKey?.absolute
    connection.addresses = addresses
    return connection
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
  /// The mode that tells what this one would ask for.
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
