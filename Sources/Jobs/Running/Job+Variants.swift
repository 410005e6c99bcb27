package import ImageCaching
import ImageDownloading
import ImageManaging
package import Base
package import Reports

extension Job {
  /// Every edge with every variant, grouped by edge; empty if entries are requested in one plain way.
  package var requestVariants: [RequestVariant] {
    if request.variants.isEmpty && request.edges.isEmpty { return [] }
    let edges = request.edges.isEmpty ? [nil] : request.edges.map(\.name)
    let names = request.variants.isEmpty ? [nil] : request.variants.map(\.name)
    return edges.flatMap { edge in names.map { RequestVariant(name: $0, edge: edge) } }
  }

  /// The same, with the download options of each.
  var loadVariants: [(RequestVariant, DownloadOptions)] { requestVariants.map { ($0, asking($0).downloadOptions) } }

  /// How many ways of requesting entries all hosts have: the plain one, and one for each variant and edge.
  var wayCount: Int { 1 + requestVariants.count }

  /// The ways in which a run requests entries besides the plain one: those of all hosts, then, for each of ``hosts`` that changes
  /// requests, as many again with its headers and credentials. Identities don't distinguish them, except by credentials.
  var loadWays: [(RequestVariant, DownloadOptions)] {
    hosts.filter(\.changesRequests).map(applying).reduce(into: loadVariants) { ways, job in
      ways += [(.plain, job.downloadOptions)] + job.loadVariants
    }
  }

  /// The identities in `cache` of the unchanged images that this job fetches for a URL: one for each variant and edge,
  /// in request order; throws if it isn't a valid URL.
  package func identities(of url: String, in cache: ImageCache) throws(InvalidURL) -> [[UInt8]] {
    let context = try forHost(of: BaseURL(url)).context(in: cache, at: TimeSource.system.wall())
    let identities = try ImageIdentity.identities(of: url, by: context)
    return identities.count == 1 ? identities : Array(identities.dropFirst())
  }

  /// The context that makes identities of entries, except those of ``hosts``, as runs of this job make them.
  func context(in cache: ImageCache?, at time: Timestamp) -> LoadContext {
    // Without a cache nothing can be stored.
    var options = LoadOptions.standard
    options.mode = cache == nil ? .bypass : .use
    (options.keyRule, options.variants) = (self.cache.key, loadVariants)
    return LoadContext(cache: cache, download: downloadOptions, options: options, startedAt: time)
  }

  func asking(_ variant: RequestVariant) -> Job {
    var job = self
    for header in request.variants.first(where: { $0.name == variant.name })?.headers ?? [] {
      job.request.download.replace(header)
    }
    if let edge = request.edges.first(where: { $0.name == variant.edge }) {
      job.request.download.connection.connectTo = [DownloadOptions.ConnectTarget(targetHost: edge.host, targetPort: edge.port)]
    }
    return job
  }
}

extension DownloadOptions {
  /// Replaces all fields of that name by this one. `Accept` and `User-Agent` are also sent after redirects to other hosts.
  mutating func replace(_ header: HeaderField) {
    let name = header.name.lowercased()
    headers.removeAll { $0.name.lowercased() == name }
    switch name {
    case "accept": accept = header.value
    case "user-agent": userAgent = header.value
    default: headers.append(header)
    }
  }
}

/// One way in which a job requests an entry, with its identity in caches and reports.
package struct EntryRequest: Sendable {
  package let variant: RequestVariant
  /// The identity of the unchanged image in caches.
  package let identity: [UInt8]
  /// The identity of the transformed image in caches; nil if the job stores images unchanged.
  package let transformedIdentity: [UInt8]?
  package let curl: CurlCommand
  package let job: Job
}

extension Job {
  /// The ways in which this job requests a URL; throws if it isn't a valid URL.
  ///
  /// Without a cache there is no key to hash credentials with, so identities with credentials are useless.
  package func ways(of url: String, in cache: ImageCache?) throws(InvalidURL) -> [EntryRequest] {
    let own = try forHost(of: BaseURL(url))
    let identities = try ImageIdentity.identities(of: url, by: own.context(in: cache, at: TimeSource.system.wall()))
    let ways = requestVariants.isEmpty ? [.plain] : requestVariants
    return zip(zip(ways, own.reportedRequests), identities.suffix(ways.count)).map { way, identity in
      var job = own
      job.request.variants = request.variants.filter { $0.name == way.0.name }
      job.request.edges = request.edges.filter { $0.name == way.0.edge }
      return EntryRequest(
        variant: way.0,
        identity: identity,
        transformedIdentity: transformedIdentity(of: identity),
        curl: way.1.curl,
        job: job
      )
    }
  }
}

extension Job {
  /// The commands that repeat the requests of this job's entries, secrets masked: one for each variant and edge.
  package var reportedRequests: [ReportedRequest] {
    let ways = requestVariants.isEmpty ? [.plain] : requestVariants
    return ways.map { way in
      ReportedRequest(variant: way, curl: CurlCommand(options: CurlOptions(asking(way).request).words))
    }
  }
}
