public import ImageCaching
import ImageManaging
import ImagePrimitives
public import ImageURLs
public import Reports

/// One way in which a job asks for an entry, with all that tells what its runs know of it.
public struct EntryWay: Sendable {
  /// The names of its variant and edge.
  public let variant: ReportedVariant
  /// What a cache knows the image by, as it comes.
  public let identity: [UInt8]
  /// What a cache knows the image by that the job makes of it; nil where it stores images as they come.
  public let transformedIdentity: [UInt8]?
  /// What makes its request again.
  public let curl: CurlCommand
  /// The job that asks in this way alone.
  public let job: Job
}

extension Job {
  /// The ways in which this job asks for a URL as somebody writes it; throws for what is no URL of an image.
  ///
  /// Without a cache there is no key that credentials are hashed under, so that identities with credentials are good for nothing.
  public func ways(of url: String, in cache: ImageCache?) throws(InvalidURL) -> [EntryWay] {
    let context = context(variants: loadVariants, in: cache, at: TimeSource.system.wall())
    let identities = try ImageIdentity.identities(of: url, by: context)
    let ways = entryVariants.isEmpty ? [EntryVariant(variant: nil, edge: nil)] : entryVariants
    return zip(zip(ways, reportedRequests), identities.suffix(ways.count)).map { way, identity in
      var job = self
      job.request.variants = way.0.variant.map { [$0] } ?? []
      job.request.edges = way.0.edge.map { [$0] } ?? []
      return EntryWay(
        variant: way.0.reported,
        identity: identity,
        transformedIdentity: transformedIdentity(of: identity),
        curl: way.1.curl,
        job: job
      )
    }
  }
}

extension Job {
  /// What makes the requests of this job's entries again, secrets masked: one for each way in which they are asked for.
  public var reportedRequests: [ReportedRequest] {
    let ways = entryVariants.isEmpty ? [EntryVariant(variant: nil, edge: nil)] : entryVariants
    return ways.map { way in
      ReportedRequest(variant: way.reported, curl: CurlCommand(options: CurlOptions(asking(way).request).words))
    }
  }
}
