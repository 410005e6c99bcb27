/// The reason for a failure, with its values, so that programs can word it with their own names of settings and recognise
/// unreachable hosts.
package indirect enum FailureReason: Sendable, Hashable {
  case tooFewBytes(Int, minimum: Int), tooManyBytes(Int, maximum: Int)
  case format(ImageFormat, allowed: [ImageFormat])
  /// The rules accept only some formats, and the server's content type names none; nil if the server sent none.
  case unnamedFormat(contentType: String?)
  case undecoded(ImageFormat)
  /// The job transforms images, but this format has no pixels that could be decoded.
  case untransformable(ImageFormat)
  case animated, still
  /// The decoder's first warning, under strict rules.
  case decoderWarning(String)
  case width(ImageSize, minimum: Int, maximum: Int?), height(ImageSize, minimum: Int, maximum: Int?)
  case tooManyPixels(ImageSize, maximum: Int)
  case transformTooLarge(ImageSize, frames: Int, maximum: Int)
  /// So many URLs of a host returned the same bytes that they count as a placeholder; `first` is one of the other URLs.
  case placeholder(urls: Int, host: String, first: String?)
  case secondRequest(failure: String)
  /// The second response shows no CDN cache hit; `evidence` is the header that shows something else.
  case noRemoteHit(evidence: String?)
  /// A host is paused for longer than a download may wait; `finding` names the host and the time. It counts as down if it has responded
  /// with nothing but 429 and 503 and the download made no request.
  case waitTooLong(finding: String, maximum: Duration, wasRequested: Bool, isHostDown: Bool = false)
  /// The body exceeds the maximum size of downloads; nil if the server declared no length.
  case bodyTooLarge(declaredBytes: Int?, maximum: Int)
  /// The server redirects to a URL again after it has set a cookie, which isn't sent.
  case cookieLoop
  case unresolved(name: String)
  /// No connection was accepted; `cause` is the system's, such as `Connection refused`.
  case noConnection(to: String, cause: String)
  /// The host is paused after several consecutive failures; includes the last one.
  case hostDown(failures: Int, last: ImageFailure)
  /// The host can't be reached directly, and the proxy that this variable of the environment names wasn't used.
  case unusedProxy(variable: String, ImageFailure)
  case quoted(before: String, FailureReason, after: String)

  package var kind: FailureKind {
    switch self {
    case .tooFewBytes, .tooManyBytes: .size
    // Strictness is the job's choice, so it isn't blacklisted: other rules may accept the image.
    case .format, .unnamedFormat, .undecoded, .untransformable, .decoderWarning: .format
    case .animated, .still: .animated
    case .width, .height, .tooManyPixels, .transformTooLarge: .dimensions
    case .placeholder: .placeholder
    case .secondRequest, .noRemoteHit: .remoteCache
    case .waitTooLong(_, _, _, let isHostDown): isHostDown ? .hostDown : .httpStatus
    case .bodyTooLarge: .tooLarge
    case .cookieLoop: .redirects
    case .unresolved: .dns
    case .noConnection: .connect
    case .hostDown: .hostDown
    case .unusedProxy(_, let failure): failure.kind
    case .quoted(_, let reason, _): reason.kind
    }
  }

  package var isUntransformable: Bool { if case .untransformable = self { true } else { false } }

  /// The finding without the setting: the start of a sentence.
  package var finding: String {
    switch self {
    case .tooFewBytes(let count, _), .tooManyBytes(let count, _): "the image has \(count) bytes"
    case .format(let format, _): "the image is \(format.name)"
    case .unnamedFormat(let type):
      type.map { "the content type \($0.quotable) names no image format" } ?? "the response has no content type"
    case .undecoded(let format): "the image is \(format.name), which can't be decoded"
    case .untransformable(let format): "the image is \(format.name), which can't be decoded to pixels for the transform"
    case .animated: "the image is animated"
    case .still: "the image isn't animated"
    case .decoderWarning(let warning): warning
    case .width(let size, _, _), .height(let size, _, _), .tooManyPixels(let size, _):
      "the image is \(size.width) x \(size.height) pixels"
    case .transformTooLarge(let size, let frames, _):
      "the transform would make \(frames == 1 ? "an image" : "\(frames) frames") of \(size.width) x \(size.height) pixels"
    case .placeholder(let urls, let host, let first):
      "\(urls) URLs of \(host) have returned the same bytes\(first.map { ", first \($0.quotable)" } ?? "")"
    case .secondRequest: "the second request failed"
    case .noRemoteHit(nil): "the second response has no cache header"
    case .noRemoteHit(let evidence?): "the second response isn't a cache hit ('\(evidence)')"
    case .waitTooLong(let finding, _, _, _): finding
    case .bodyTooLarge(nil, _): "the body"
    case .bodyTooLarge(let bytes?, _): "the declared body of \(bytes) bytes"
    case .cookieLoop: "the server sets a cookie and redirects in a loop"
    case .unresolved(let name): "the name \(name) could not be resolved"
    case .noConnection(let address, let cause): "no connection to \(address): \(cause)"
    case .hostDown(let failures, let last):
      "skipped after \(failures) \(failures == 1 ? "failure" : "failures in a row"): \(last.cause)"
    case .unusedProxy(let variable, let failure): "\(failure.message); \(variable) is set but not used"
    case .quoted(_, let reason, _): reason.finding
    }
  }
}

extension ImageFailure {
  /// The cause alone, for a sentence that names the host or URL already, such as `connection refused`.
  package var cause: String {
    guard case .noConnection(_, let cause) = reason else { return message }
    return cause.prefix(1).lowercased() + cause.dropFirst()
  }

  /// Why the host can't be reached; nil if it can, or if that isn't known.
  package var unreachableReason: FailureReason? {
    switch reason {
    case .unresolved, .noConnection, .unusedProxy: reason
    case .hostDown(_, let last): last.unreachableReason
    default: nil
    }
  }
}

extension FailureReason: CustomStringConvertible {
  /// One sentence for users of the library.
  package var description: String {
    switch self {
    case .tooFewBytes(_, let minimum): "\(finding); at least \(minimum) are required"
    case .tooManyBytes(_, let maximum), .tooManyPixels(_, let maximum), .transformTooLarge(_, _, let maximum):
      "\(finding); at most \(maximum) are allowed"
    case .format(_, let allowed): "\(finding); allowed formats: \(allowed.map(\.name).joined(separator: ", "))"
    case .unnamedFormat: "\(finding); only some formats are allowed"
    case .undecoded: "\(finding); only rules with depth none accept it"
    case .animated: "\(finding); only still images are allowed"
    case .still: "\(finding); only animated images are allowed"
    case .decoderWarning: "strict rules allow no warnings: \(finding)"
    case .width(_, let minimum, let maximum): "\(finding); its width must be \(Self.bounds(minimum, maximum))"
    case .height(_, let minimum, let maximum): "\(finding); its height must be \(Self.bounds(minimum, maximum))"
    case .placeholder: "\(finding), probably a placeholder for missing images"
    case .secondRequest(let failure): "\(finding), but a remote cache hit is required: \(failure)"
    case .noRemoteHit: "\(finding), but a remote cache hit is required"
    case .waitTooLong: sentence(naming: "DownloadOptions.retryAfterMaximum")
    case .bodyTooLarge: sentence(naming: "DownloadOptions.maxBytes")
    case .cookieLoop: "\(finding); DownloadOptions.handlesCookies sends it back"
    case .unusedProxy: "\(finding); DownloadOptions.Connection.proxy is none"
    case .untransformable, .unresolved, .noConnection, .hostDown: finding
    case .quoted(let before, let reason, let after): "\(before)\(reason)\(after)"
    }
  }

  /// The sentence of a download limit, with the name by which users know it.
  package func sentence(naming limit: String) -> String {
    switch self {
    case .waitTooLong(_, let maximum, let wasRequested, _):
      "\(finding), longer than \(limit) (\(maximum.text))\(wasRequested ? "" : "; this URL wasn't requested")"
    case .bodyTooLarge(_, let maximum): "\(finding) exceeds \(limit) (\(maximum) bytes)"
    default: description
    }
  }

  /// A range for a sentence, such as `16 to 4000` or `at least 16`.
  package static func bounds(_ minimum: Int, _ maximum: Int?) -> String {
    maximum.map { "\(minimum) to \($0)" } ?? "at least \(minimum)"
  }
}

extension Duration {
  /// Such as `10 s`, `250 ms`.
  package var text: String {
    let milliseconds = wholeMilliseconds
    if milliseconds % 1000 == 0 { return "\(milliseconds / 1000) s" }
    return milliseconds < 1000 ? "\(milliseconds) ms" : "\(Double(milliseconds) / 1000) s"
  }
}
