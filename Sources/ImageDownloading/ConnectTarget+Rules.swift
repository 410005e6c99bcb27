import ImageURLs

extension URLOrigin {
  /// Whom limits count as the host of requests with those options: the server that is connected to, whatever names it serves.
  func connecting(by options: DownloadOptions) -> URLOrigin {
    options.connection.target(of: self).map { URLOrigin(isSecure: isSecure, hostAndPort: $0[...]) } ?? self
  }
}

extension DownloadOptions.Connection {
  /// Who is connected to for a request to `url`, a normalised one, by ``connectTo``: `HOST:PORT`; nil where that is the URL's own.
  public func target(for url: UnsafeRawBufferPointer) -> [UInt8]? {
    guard !connectTo.isEmpty, let parts = URLNormalizer.parts(ofNormalForm: url) else { return nil }
    return target(of: URLOrigin(Array(url), parts))
  }

  /// The same for all URLs of an origin.
  func target(of origin: URLOrigin) -> [UInt8]? {
    guard !connectTo.isEmpty else { return nil }
    let (host, port) = (origin.name, origin.port)
    guard let rule = connectTo.first(where: { ($0.host ?? host) == host && ($0.port ?? port) == port }) else { return nil }
    let target = (host: rule.targetHost ?? host, port: rule.targetPort ?? port)
    return target == (host, port) ? nil : Array("\(target.host):\(target.port)".utf8)
  }
}
