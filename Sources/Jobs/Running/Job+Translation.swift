import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import Base
import Reports

// A job as options of the modules that process it; some follow from several keys.
extension Job {
  /// The options for fetching the job's entries, except variants and edges.
  var downloadOptions: DownloadOptions {
    request.download.with {
      $0.acceptStatus = request.acceptStatus.reduce(into: []) { $0.formUnion($1) }
      if blacklist.isEnabled { $0.purpose.permanentStatuses = blacklist.statuses }
      $0.purpose.describesDelivery = !appliedLint.isOff
      $0.connection.tls.caFile = request.tls.caFile?.absolute
      $0.connection.tls.clientCertificate = request.tls.clientCertificate?.absolute
      $0.connection.tls.clientKey = request.tls.clientKey?.absolute
    }
  }

  /// The options for fetching lists: those of images, but always the whole text, and without the rules for images.
  var listDownloadOptions: DownloadOptions {
    downloadOptions.fetchingText(accept: "application/xml,text/xml,*/*;q=0.8", maxBytes: JobListFetcher.maximumBytes)
  }

  /// The rules for images, as far as the method fetches something to check.
  private var verificationRules: VerificationRules {
    var rules = verify.rules
    // A HEAD response has nothing to decode.
    if request.download.method == .head { rules.depth = .none } else if rules.isStrict { rules.depth = .full }
    rules.placeholderURLs = verify.placeholders == .fail ? DuplicateIndex.placeholderURLs : nil
    return rules
  }

  /// How loads use caches and transform images; a dry run makes no requests.
  func loadOptions(isDryRun: Bool) -> LoadOptions {
    var layers = CacheLayerUse()
    if let transform, !transform.keepsOriginal { layers.writesOriginal = [] }
    var options = transformOptions
    options.mode = isDryRun ? cache.mode.ofDryRun : cache.mode
    options.layers = layers
    options.keyRule = cache.key
    options.verifiesHits = cache.verifiesHits
    options.run = LoadOptions.Run(earlierAttempt: plannedEntries?.plannedAt)
    options.variants = loadWays
    options.verification = verificationRules
    options.blacklist = blacklist
    options.wording = JobWording()
    return options
  }

  private var transformOptions: LoadOptions {
    var options = LoadOptions.standard
    (options.transformer, options.encoding) = (transform?.resize.transformer, transform?.encoding)
    // Who chooses a format without animations for a job wants the first frames.
    if let format = options.encoding?.format, !format.keepsAnimations { options.encoding?.options.firstFrameOnly = true }
    return options
  }

  /// The identity of the transformed image for the image of `identity`; nil if the job stores images unchanged.
  package func transformedIdentity(of identity: [UInt8]) -> [UInt8]? {
    ImageIdentity.transformed(identity, by: transformOptions)
  }

  /// Whether it decodes images: fully, for transforms or for pictures in a report.
  package var decodesImages: Bool {
    verificationRules.depth == .full || transform != nil || reports.contains { $0.format == .html }
  }

  /// Collects pictures for the HTML report; nil if the job has none.
  func makeContactSheet(_ configuration: ImageManager.Configuration, openFiles: Int) -> ContactSheet? {
    guard reports.contains(where: { $0.format == .html }) else { return nil }
    let maker = PictureMaker(
      coders: configuration.coders,
      maximumPixels: verify.rules.maximumPixels,
      budget: configuration.decodingBudget
    )
    return ContactSheet(
      maker,
      findsPlaceholders: verify.placeholders != .ignore,
      findsHeavy: appliedLint.isOn(.oversized),
      openFiles: openFiles
    )
  }
}

extension ImageDownloader {
  /// Sets the limits of a job, whose keys allow no others.
  func setJobLimits(_ limits: DownloadLimits) {
    do throws(DownloaderError) { try setLimits(limits) } catch { fatalError(error.message) }
  }
}

extension Job.ReportTarget.Destination {
  /// The path in the form of report targets: `-` is standard output.
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
