extension EncodingOptions {
  /// The file that `encode` makes at the best quality up to ``quality`` at which it is no larger than ``maximumBytes``; what is
  /// too large even at the lowest cannot be written.
  ///
  /// A larger quality is taken to give a larger file, as it nearly always does, so that 8 attempts are enough.
  func fitting(_ encode: (_ quality: Int) throws(ImageError) -> [UInt8]) throws(ImageError) -> [UInt8] {
    let wanted = try encode(quality)
    guard let maximumBytes, wanted.count > maximumBytes else { return wanted }
    var best: [UInt8]?
    var smallest = wanted.count
    var range = 1..<quality
    while !range.isEmpty {
      let middle = (range.lowerBound + range.upperBound) / 2
      let attempt = try encode(middle)
      smallest = min(smallest, attempt.count)
      if attempt.count <= maximumBytes {
        best = attempt
        range = middle + 1..<range.upperBound
      } else {
        range = range.lowerBound..<middle
      }
    }
    if let best { return best }
    throw ImageError(.unencodable, "the image takes \(smallest) bytes at the lowest quality, and \(maximumBytes) are allowed")
  }
}
