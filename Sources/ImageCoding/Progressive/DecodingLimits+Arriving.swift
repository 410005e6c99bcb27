extension DecodingLimits {
  /// Refuses more memory than one file may need, without a share of what others have too: a decoder that waits for bytes would
  /// keep it.
  func check(bytes: Int) throws(ImageError) {
    var limits = self
    limits.budget = nil
    try limits.spending(bytes) {}
  }
}
