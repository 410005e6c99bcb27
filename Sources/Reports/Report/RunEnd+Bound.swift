extension RunEnd {
  /// For how much of the run each part held up all else, `71 % per-host, 20 % cpu`; nil where that is not known.
  var boundWords: String? {
    let words = boundShares.compactMap { share in
      let percent = Int((min(1, share.fraction) * 100).rounded())
      return percent > 0 ? "\(percent) % \(share.name)" : nil
    }
    return words.isEmpty ? nil : words.joined(separator: ", ")
  }
}
