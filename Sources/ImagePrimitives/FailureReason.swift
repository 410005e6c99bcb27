/// What a failure is by, with the values that tell: a setting, which a program that knows it by another name words anew, or a host that
/// can't be reached.
public indirect enum FailureReason: Sendable, Hashable {
  /// The body has fewer bytes than are required.
  case tooFewBytes(Int, minimum: Int)
  /// The body has more bytes than are allowed.
  case tooManyBytes(Int, maximum: Int)
  /// Images of that format are not accepted.
  case format(ImageFormat, allowed: [ImageFormat])
  /// The rules accept only some formats, and the server's content type names none; nil if it sent none.
  case unnamedFormat(contentType: String?)
  /// No coder decodes the format, and the rules ask for a proof.
  case undecoded(ImageFormat)
  /// Only still images are accepted.
  case animated
  /// Only animated images are accepted.
  case still
  /// The decoder's first warning, and the rules are strict.
  case decoderWarning(String)
  /// The width lies outside of the bounds, both included.
  case width(ImageSize, minimum: Int, maximum: Int?)
  /// The height lies outside of the bounds, both included.
  case height(ImageSize, minimum: Int, maximum: Int?)
  /// The image has more pixels than are allowed.
  case tooManyPixels(ImageSize, maximum: Int)
  /// A frame that a transformer would make has more pixels than are allowed.
  case transformTooLarge(ImageSize, frames: Int, maximum: Int)
  /// The same bytes came for so many URLs of a host that they stand for a missing image; `first` is one of the others.
  case placeholder(urls: Int, host: String, first: String?)
  /// The second request failed, whose response was to show a cache hit.
  case secondRequest(failure: String)
  /// The second response shows no hit of a cache on the way; `evidence` is the header that shows something else.
  case noRemoteHit(evidence: String?)
  /// A host asks to wait for longer than a download may; the finding says who for how long.
  case waitTooLong(finding: String, maximum: Duration, wasRequested: Bool)
  /// The body is larger than is downloaded; nil if the server declared no length.
  case bodyTooLarge(declaredBytes: Int?, maximum: Int)
  /// The name of a host could not be resolved.
  case unresolved(name: String)
  /// Nothing accepted a connection; the cause is the system's, such as `Connection refused`.
  case noConnection(to: String, cause: String)
  /// The host gets no requests for now, after so many failures in a row; with the last of them.
  case hostDown(failures: Int, last: Failure)
  /// A reason that another sentence quotes.
  case quoted(before: String, FailureReason, after: String)

  /// The kind of failures by this setting.
  public var kind: FailureKind {
    switch self {
    case .tooFewBytes, .tooManyBytes: .size
    // Strictness is the job's, so that nothing of it is remembered: under other rules the image is good.
    case .format, .unnamedFormat, .undecoded, .decoderWarning: .format
    case .animated, .still: .animated
    case .width, .height, .tooManyPixels, .transformTooLarge: .dimensions
    case .placeholder: .placeholder
    case .secondRequest, .noRemoteHit: .remoteCache
    case .waitTooLong: .httpStatus
    case .bodyTooLarge: .tooLarge
    case .unresolved: .dns
    case .noConnection: .connect
    case .hostDown: .hostDown
    case .quoted(_, let reason, _): reason.kind
    }
  }

  /// What was found, without the setting: the beginning of a sentence.
  public var finding: String {
    switch self {
    case .tooFewBytes(let count, _), .tooManyBytes(let count, _): "the image has \(count) bytes"
    case .format(let format, _): "the image is \(format.name)"
    case .unnamedFormat(let type):
      (type.map { "the content type is \($0.quotable)" } ?? "no content type was declared") + ", which names no format"
    case .undecoded(let format): "the image is \(format.name), which is recognised and not decoded"
    case .animated: "the image is animated"
    case .still: "the image does not move"
    case .decoderWarning(let warning): warning
    case .width(let size, _, _), .height(let size, _, _), .tooManyPixels(let size, _):
      "the image is \(size.width) x \(size.height) pixels"
    case .transformTooLarge(let size, let frames, _):
      "the transform would make \(frames == 1 ? "an image" : "\(frames) frames") of \(size.width) x \(size.height) pixels"
    case .placeholder(let urls, let host, let first):
      "the same bytes came for \(urls) URLs of \(host) so far\(first.map { ", first for \($0.quotable)" } ?? "")"
    case .secondRequest: "the second request failed"
    case .noRemoteHit(nil): "no header of the second answer tells of a cache"
    case .noRemoteHit(let evidence?): "no cache on the way had it by the second answer's '\(evidence)'"
    case .waitTooLong(let finding, _, _): finding
    case .bodyTooLarge(nil, _): "the body"
    case .bodyTooLarge(let bytes?, _): "the declared body of \(bytes) bytes"
    case .unresolved(let name): "the name \(name) could not be resolved"
    case .noConnection(let address, let cause): "no connection to \(address): \(cause)"
    case .hostDown(let failures, let last):
      "skipped after \(failures) \(failures == 1 ? "failure" : "failures in a row"): \(last.cause)"
    case .quoted(_, let reason, _): reason.finding
    }
  }
}

extension Failure {
  /// The cause alone, for a sentence that names the host or is beside its URL, such as `connection refused`.
  package var cause: String {
    guard case .noConnection(_, let cause) = reason else { return message }
    return cause.prefix(1).lowercased() + cause.dropFirst()
  }

  /// Why a host can't be reached; nil if it can, or if that isn't known.
  package var unreachableReason: FailureReason? {
    switch reason {
    case .unresolved, .noConnection: reason
    case .hostDown(_, let last): last.unreachableReason
    default: nil
    }
  }
}

extension FailureReason: CustomStringConvertible {
  /// One sentence for users of the library.
  public var description: String {
    switch self {
    case .tooFewBytes(_, let minimum): "\(finding), and at least \(minimum) are required"
    case .tooManyBytes(_, let maximum), .tooManyPixels(_, let maximum), .transformTooLarge(_, _, let maximum):
      "\(finding), and at most \(maximum) are allowed"
    case .format(_, let allowed): "\(finding), and only \(allowed.map(\.name).joined(separator: ", ")) is allowed"
    case .unnamedFormat: "\(finding), and only some formats are allowed"
    case .undecoded: "\(finding); rules of depth none accept it as it is"
    case .animated: "\(finding), and only still images are allowed"
    case .still: "\(finding), and only animated images are allowed"
    case .decoderWarning: "strict rules allow no warnings: \(finding)"
    case .width(_, let minimum, let maximum): "\(finding), and its width must be \(Self.bounds(minimum, maximum))"
    case .height(_, let minimum, let maximum): "\(finding), and its height must be \(Self.bounds(minimum, maximum))"
    case .placeholder: "\(finding): they stand for an image that is missing"
    case .secondRequest(let failure): "\(finding), and a hit of a remote cache is required: \(failure)"
    case .noRemoteHit: "\(finding), and a hit of a remote cache is required"
    case .waitTooLong: sentence(naming: "DownloadOptions.retryAfterMaximum")
    case .bodyTooLarge: sentence(naming: "DownloadOptions.maxBytes")
    case .unresolved, .noConnection, .hostDown: finding
    case .quoted(let before, let reason, let after): "\(before)\(reason)\(after)"
    }
  }

  /// The sentence of a limit of downloads that its users know by that name.
  public func sentence(naming limit: String) -> String {
    switch self {
    case .waitTooLong(_, let maximum, let wasRequested):
      "\(finding), which is more than \(limit), \(maximum.text)\(wasRequested ? "" : "; this URL was not asked")"
    case .bodyTooLarge(_, let maximum): "\(finding) is larger than \(limit), \(maximum) bytes"
    default: description
    }
  }

  /// Bounds for a sentence, such as `16 to 4000` or `at least 16`.
  public static func bounds(_ minimum: Int, _ maximum: Int?) -> String {
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
