import ImagePrimitives

extension FailureGroup {
  /// What a person calls this group, such as `404 Not Found` and `not an image`.
  var title: String {
    if let status { return reasonPhrase(status).map { "\(status) \($0)" } ?? "HTTP status \(status)" }
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

/// The phrase of a status (IANA HTTP Status Code Registry), of those that image servers send.
private func reasonPhrase(_ status: Int) -> String? {
  switch status {
  case 204: "No Content"
  case 206: "Partial Content"
  case 304: "Not Modified"
  case 400: "Bad Request"
  case 401: "Unauthorized"
  case 402: "Payment Required"
  case 403: "Forbidden"
  case 404: "Not Found"
  case 405: "Method Not Allowed"
  case 406: "Not Acceptable"
  case 407: "Proxy Authentication Required"
  case 408: "Request Timeout"
  case 409: "Conflict"
  case 410: "Gone"
  case 414: "URI Too Long"
  case 415: "Unsupported Media Type"
  case 416: "Range Not Satisfiable"
  case 418: "I'm a teapot"
  case 421: "Misdirected Request"
  case 422: "Unprocessable Content"
  case 425: "Too Early"
  case 429: "Too Many Requests"
  case 431: "Request Header Fields Too Large"
  case 451: "Unavailable For Legal Reasons"
  case 500: "Internal Server Error"
  case 501: "Not Implemented"
  case 502: "Bad Gateway"
  case 503: "Service Unavailable"
  case 504: "Gateway Timeout"
  default: nil
  }
}
