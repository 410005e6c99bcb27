import NIOHTTP1

/// The bytes of a status line and its header fields, with the empty line that ends them.
func responseHead(_ status: Int, type: String? = nil, length: Int? = nil, _ headers: HeaderFields = [:]) -> [UInt8] {
  var text = "HTTP/1.1 \(status) \(HTTPResponseStatus(statusCode: status).reasonPhrase)\r\n"
  if let type { text += "Content-Type: \(type)\r\n" }
  if let length, mayHaveLength(status) { text += "Content-Length: \(length)\r\n" }
  for (name, value) in headers.fields { text += "\(name): \(value)\r\n" }
  return Array((text + "\r\n").utf8)
}

/// No Content-Length with 1xx and 204 (RFC 9110, section 8.6); with 304 it would be that of another response.
private func mayHaveLength(_ status: Int) -> Bool { !(100..<200).contains(status) && status != 204 && status != 304 }

/// The media type that web servers use for a file with that extension.
func mediaType(ofFile path: String) -> String {
  switch path.split(separator: ".").last?.lowercased() {
  case "jpg", "jpeg": "image/jpeg"
  case "png": "image/png"
  case "webp": "image/webp"
  case "gif": "image/gif"
  case "txt": "text/plain"
  case "html": "text/html"
  case "json": "application/json"
  default: "application/octet-stream"
  }
}
