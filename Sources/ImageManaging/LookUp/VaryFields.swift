import ImageCaching
import ImageDownloading
import Base

struct SentHeaders {
  let options: PreparedOptions
  /// The headers that the downloader sends with all requests.
  let defaults: [HeaderField]
}

/// A request, as far as a response's Vary header is concerned.
struct VaryRequest {
  fileprivate let sent: SentHeaders
  private let hasher: CredentialHasher
  let credential: Credential?

  /// Creates a request for `url`; `hasher` is that of the cache of the record.
  init(_ sent: SentHeaders, url: UnsafeRawBufferPointer, hasher: CredentialHasher) {
    self.sent = sent
    self.hasher = hasher
    credential = sent.options.credential(for: url)
  }

  /// The line of a record for the header of that name, in lower case; nil if its value isn't known.
  fileprivate func line(_ name: String) -> String? {
    // Cookies of the jar are known only when the request is made.
    if name == "cookie" && sent.options.options.handlesCookies { return nil }
    let value = sent.options.options.requestValue(ofHeader: name, defaults: sent.defaults, credential: credential)
    guard let value else { return name }
    let digest = Array("\(name): \(value)".utf8).withRawBytes { hasher.digest($0) }
    return "\(name):" + String(decoding: digest, as: UTF8.self)
  }
}

/// The request headers that a response depends on, as stored in a record (RFC 9111, section 4.1): one line `name:digest` per
/// header, in the order of their names; a header that wasn't sent has a line without the colon. A single `*` matches no request.
/// Values may be secret, so only their hash with the cache's key is stored. `*` instead of a digest matches no request.
enum VaryFields {
  /// The stored form of `vary`, the response's Vary header, for such a request; empty if it names no headers.
  static func text(_ vary: String, _ request: VaryRequest) -> [UInt8] {
    let names = Set(vary.split { $0 == "," || $0 == " " || $0 == "\t" }.map { $0.lowercased() })
    if names.contains("*") { return Array("*".utf8) }
    // The body is always requested without coding, so `Accept-Encoding` needs no exception.
    let text = Array(names.sorted().map { request.line($0) ?? "\($0):*" }.joined(separator: "\n").utf8)
    // A truncated text might name fewer headers than the response.
    return text.count <= EntryFields.maximumVaryBytes ? text : Array("cookie:*".utf8)
  }

  /// Whether a request would have got the response that `text` was stored for.
  static func matches(_ text: [UInt8], _ request: VaryRequest) -> Bool {
    let text = String(decoding: text, as: UTF8.self)
    if text == "*" { return false }
    return text.split(separator: "\n").allSatisfy { kept in
      request.line(String(kept.prefix { $0 != ":" })).map { $0 == kept } ?? false
    }
  }
}

/// Which stored texts match a batch's requests: most records have one of a few texts.
struct VaryVerdicts {
  private struct Question: Hashable {
    let text: [UInt8]
    let options: ObjectIdentifier
    let credential: Credential?
  }

  private var verdicts: [Question: Bool] = [:]

  mutating func matches(_ text: [UInt8], _ request: VaryRequest) -> Bool {
    let question = Question(text: text, options: ObjectIdentifier(request.sent.options), credential: request.credential)
    if let verdict = verdicts[question] { return verdict }
    let verdict = VaryFields.matches(text, request)
    verdicts[question] = verdict
    return verdict
  }
}

/// The texts of consecutive responses: most have the same Vary header as the one before.
struct VaryTexts {
  private weak var context: LoadContext?
  private var variant: UInt16 = 0
  private var vary = ""
  private var credential: Credential?
  private var text: [UInt8] = []

  /// The stored form of `vary` for the request of `flight`.
  mutating func text(_ vary: String, of flight: Flight, _ sent: SentHeaders) -> [UInt8] {
    let request = flight.entry.withRequestURL { VaryRequest(sent, url: $0, hasher: flight.context.credentialHasher) }
    if context === flight.context, variant == flight.entry.variant, self.vary == vary, credential == request.credential {
      return text
    }
    context = flight.context
    variant = flight.entry.variant
    self.vary = vary
    credential = request.credential
    text = VaryFields.text(vary, request)
    return text
  }
}
