/// What statuses mean (RFC 9110, section 15).
enum HTTPStatus {
  /// Those that send the client elsewhere by `Location`.
  static let redirects: Set<Int> = [301, 302, 303, 307, 308]

  /// Whether another try may find another answer.
  static func isTransient(_ status: Int) -> Bool {
    status == 408 || status == 425 || status == 429 || (500...599).contains(status)
  }

  /// The registered phrase, which HTTP/2 does not send; nil for a status that is rare or unknown.
  static func phrase(_ status: Int) -> String? {
    switch status {
    case 204: "No Content"
    case 206: "Partial Content"
    case 300: "Multiple Choices"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 408: "Request Timeout"
    case 410: "Gone"
    case 414: "URI Too Long"
    case 416: "Range Not Satisfiable"
    case 421: "Misdirected Request"
    case 425: "Too Early"
    case 429: "Too Many Requests"
    case 451: "Unavailable For Legal Reasons"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    default: nil
    }
  }
}
