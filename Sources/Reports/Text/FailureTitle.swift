import ImagePrimitives

extension FailureGroup {
  /// What a person calls this group, such as `404 Not Found` and `not an image`.
  package var title: String {
    if let status { return HTTPPhrases.phrase(of: status).map { "\(status) \($0)" } ?? "HTTP status \(status)" }
    return switch kind {
    case nil: "known bad"
    case .dns: "DNS"
    case .tls: "TLS"
    case .httpStatus: "HTTP status"
    case .invalidURL: "invalid URL"
    case .internal: "internal error"
    case .size: "bytes out of bounds"
    case .reset: "connection reset"
    case .connect: "cannot connect"
    case .truncated: "cut body"
    case .empty: "empty body"
    case let kind?: String(kind.name.map { $0 == "-" ? " " : $0 })
    }
  }
}
