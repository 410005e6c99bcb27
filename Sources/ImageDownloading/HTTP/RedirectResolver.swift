import Base

/// Resolves redirects within the rules: http and https only, a limited number, no loop unless a cookie may end it.
final class RedirectResolver {
  private let normalizer = URLNormalizer()

  /// Returns the URL of the next request of `job` for `location`, or the reason not to follow it.
  ///
  /// A redirect back to the download's own origin gets that URL's userinfo, as a browser would send the credentials again.
  func resolve(_ location: [UInt8], of job: QueuedDownload) -> Result<[UInt8], ImageFailure> {
    let limit = job.download.options.redirects
    guard job.route.visited.count < limit else {
      return .failure(
        .redirect(limit == 0 ? "the server redirects, but redirects is 0" : "more than \(limit) redirects")
      )
    }
    var next: [UInt8] = []
    do throws(InvalidURL) {
      let parts = parts(of: job.url)
      _ = try location.withRawBytes { location throws(InvalidURL) in
        try job.url.withRawBytes { base throws(InvalidURL) in
          try normalizer.resolve(location, against: base, parts: parts, into: &next)
        }
      }
    } catch {
      return .failure(.redirect("cannot follow redirect \(job.route.visited.count + 1): \(error.message)"))
    }
    addCredentials(of: job.download.requestURL, to: &next)
    // The credentials may have made it too long.
    guard URLOrigin(next) != nil else {
      return .failure(
        .redirect(
          "cannot follow redirect \(job.route.visited.count + 1): its URL is too long with the credentials of the first URL"
        )
      )
    }
    guard next == job.url || job.route.visited.contains(next) else { return .success(next) }
    if !job.route.hasSetCookie { return .failure(.redirect("redirect loop")) }
    return job.download.options.handlesCookies ? .success(next) : .failure(ImageFailure(.cookieLoop))
  }

  private func addCredentials(of own: [UInt8], to url: inout [UInt8]) {
    let (ownParts, urlParts) = (parts(of: own), parts(of: url))
    guard !ownParts.userInfo.isEmpty, urlParts.userInfo.isEmpty else { return }
    guard URLOrigin(own, ownParts) == URLOrigin(url, urlParts) else { return }
    url.insert(contentsOf: own[ownParts.userInfo] + [UInt8(ascii: "@")], at: urlParts.host.lowerBound)
  }

  private func parts(of normalized: [UInt8]) -> URLParts {
    normalized.withUnsafeBytes { URLNormalizer.parts(ofNormalForm: $0)! }
  }
}

extension ImageFailure {
  fileprivate static func redirect(_ message: String) -> ImageFailure { ImageFailure(.redirects, message: message) }
}
