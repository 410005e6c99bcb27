import ImagePrimitives
import ImageURLs

/// A request that is not just its template with a URL: a conditional one, one that hooks have changed, or one for a later part of
/// a body.
struct OwnRequest {
  var url: [UInt8]
  let headers: CurlList
  /// Whether a 304 answers it.
  let isConditional: Bool

  /// The next request of `job`; nil where the template does.
  ///
  /// Throws where a hook, which sees only those to the download's own origin, refuses it or makes of it what cannot be sent.
  init?(for job: Job, _ kind: RequestTemplate.Kind, defaults: [HeaderField]) throws(Failure) {
    let options = job.download.options
    let isChanged = job.download.validators != nil || options.headerFilter != nil || options.requestModifier != nil
    guard isChanged && kind.isOwnOrigin || job.continuation != nil else { return nil }
    let range = job.continuation?.request ?? (kind.method == .probe ? .first : nil)
    // What goes on is conditional on what it goes on from.
    let isFirst = job.continuation == nil && job.accepted == nil
    let validators = kind.isOwnOrigin && isFirst ? job.download.validators : nil
    let conditions = validators.map(Self.conditions) ?? []
    url = job.url
    isConditional = !conditions.isEmpty
    let fields = options.requestHeaders(defaults: defaults, isOwnOrigin: kind.isOwnOrigin, range: range)
    guard kind.isOwnOrigin else {
      headers = CurlList(headers: fields, removing: [])
      return
    }
    var request = DownloadRequest(url: String(decoding: job.url, as: UTF8.self), headers: fields + conditions)
    if let filter = options.headerFilter {
      request.headers = filter.filter(request.url, request.headers)
      try Self.check(request.headers, "header filter", filter.name)
    }
    if let modifier = options.requestModifier {
      guard let modified = modifier.modify(request) else {
        throw Failure(.internal, message: "the request modifier \(modifier.name) refused the request")
      }
      try Self.check(modified.headers, "request modifier", modifier.name)
      if modified.url != request.url { url = try Self.normalized(modified.url, like: job.url, modifier.name) }
      request = modified
    }
    // What a hook has taken out is left out, be it one that libcurl would add; but what makes it a probe stays.
    let kept = range?.added(to: request.headers) ?? request.headers
    headers = CurlList(headers: kept, removing: ["Accept"] + options.removedHeaders())
  }

  /// The headers that ask whether `validators` still hold (RFC 9110, 13.1.2 and 13.1.3). What cannot be sent is not asked.
  private static func conditions(_ validators: Validators) -> [HeaderField] {
    [("If-None-Match", validators.etag), ("If-Modified-Since", validators.lastModified)].compactMap { name, value in
      guard let value, !value.isEmpty, DownloadOptions.isValidHeader(name: name, value: value) else { return nil }
      return HeaderField(name, value)
    }
  }

  private static func check(_ headers: [HeaderField], _ hook: String, _ name: String) throws(Failure) {
    for field in headers where !DownloadOptions.isValidHeader(name: field.name, value: field.value) {
      throw Failure(.internal, message: "the \(hook) \(name) made a header that cannot be sent")
    }
  }

  /// The URL of a modifier, which may lead to no other origin: limits count that one, and secrets go there.
  private static func normalized(_ written: String, like own: [UInt8], _ modifier: String) throws(Failure) -> [UInt8] {
    var url: [UInt8] = []
    do throws(InvalidURL) {
      _ = try Array(written.utf8).withRawBytes { written throws(InvalidURL) in
        try URLNormalizer().normalize(written, relativeTo: nil, into: &url)
      }
    } catch {
      throw Failure(.internal, message: "the request modifier \(modifier) made a URL that cannot be used: \(error.message)")
    }
    guard URLOrigin(url) == URLOrigin(own) else {
      throw Failure(.internal, message: "the request modifier \(modifier) made a URL of another scheme, host or port")
    }
    return url
  }
}
