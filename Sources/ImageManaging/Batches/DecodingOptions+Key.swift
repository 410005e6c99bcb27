import ImageCoding
import ImagePrimitives

extension DecodingOptions {
  /// What tells images apart that were decoded of the same file; empty where all of it was.
  var key: String {
    var parts: [String] = []
    if let thumbnail { parts.append("\(thumbnail.width)x\(thumbnail.height)") }
    if let maximumBytes { parts.append("bytes=\(maximumBytes)") }
    if firstFrameOnly { parts.append("first-frame") }
    return parts.isEmpty ? "" : "decode(\(parts.joined(separator: ",")))"
  }
}
