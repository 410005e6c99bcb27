public import ImageCaching
import ImageDownloading
package import ImageManaging
package import ImagePrimitives
public import ImageURLs
package import Reports

extension Job {
  /// A set of headers and a server, with which each entry is asked for once.
  package struct EntryVariant {
    var variant: Request.Variant?
    var edge: Request.Edge?

    package var reported: ReportedVariant { ReportedVariant(name: variant?.name, edge: edge?.name) }
  }

  /// Every edge with every variant, those of one edge next to one another; empty where entries are asked for in the plain way alone.
  package var entryVariants: [EntryVariant] {
    if request.variants.isEmpty && request.edges.isEmpty { return [] }
    let edges = request.edges.isEmpty ? [nil] : request.edges.map(Optional.some)
    let variants = request.variants.isEmpty ? [nil] : request.variants.map(Optional.some)
    return edges.flatMap { edge in variants.map { EntryVariant(variant: $0, edge: edge) } }
  }

  /// The same as loads take them.
  var loadVariants: [LoadVariant] {
    entryVariants.map { LoadVariant(name: $0.variant?.name, edge: $0.edge?.name, download: asking($0).downloadOptions) }
  }

  /// What `cache` knows the images by that this job fetches for a URL as somebody writes it, as they come: one for each variant and edge, in
  /// the order in which they are asked for; throws for what is no URL of an image.
  public func identities(of url: String, in cache: ImageCache) throws(InvalidURL) -> [[UInt8]] {
    let context = context(variants: loadVariants, in: cache, at: TimeSource.system.wall())
    let identities = try ImageIdentity.identities(of: url, by: context)
    return identities.count == 1 ? identities : Array(identities.dropFirst())
  }

  /// What makes identities as runs of this job make them, which ask in the ways of `variants`.
  package func context(variants: [LoadVariant], in cache: ImageCache?, at time: Timestamp) -> LoadContext {
    // Without a cache nothing can be kept.
    let options = LoadOptions(mode: cache == nil ? .bypass : .use, keyRule: self.cache.key, variants: variants)
    return LoadContext(cache: cache, download: downloadOptions, options: options, startedAt: time)
  }

  /// The job that asks in that way alone.
  func asking(_ way: EntryVariant) -> Job {
    var job = self
    for header in way.variant?.headers ?? [] { job.request.replace(header) }
    if let edge = way.edge {
      job.request.connectTo = [DownloadOptions.ConnectTarget(targetHost: edge.host, targetPort: edge.port)]
    }
    return job
  }
}

extension Job.Request {
  /// Sends this field in place of those of its name. `Accept` and `User-Agent` go also where a redirect leads elsewhere.
  fileprivate mutating func replace(_ header: Header) {
    let name = header.name.lowercased()
    headers.removeAll { $0.name.lowercased() == name }
    switch name {
    case "accept": accept = header.value
    case "user-agent": userAgent = header.value
    default: headers.append(header)
    }
  }
}
