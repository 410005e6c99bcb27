extension FailureStanding {
  /// What a person is told of it in a word or two, such as `known`; nil for what counts.
  var phrase: String? {
    switch self {
    case .counts: nil
    case .known: "known"
    }
  }

  /// The same as a sentence; nil for what counts.
  var sentence: String? {
    switch self {
    case .counts: nil
    case .known: "known: it failed before, too"
    }
  }
}

extension FailureStandings {
  /// What counts and why the others do not, such as `18 count in the verdict; 2 known: they failed before, too`; nil where all count.
  var phrase: String? {
    guard known > 0 else { return nil }
    return "\(grouped(counting)) \(counting == 1 ? "counts" : "count") in the verdict; "
      + "\(grouped(known)) known: \(known == 1 ? "it" : "they") failed before, too"
  }
}

extension Placeholder {
  /// What its host did: `gave one image for 12 URLs`.
  var findingPhrase: String { "gave one image for \(counted(urls, "URL"))" }

  /// What the image is, such as `png, 1 × 1, 68 B`.
  var imagePhrase: String { Reports.imagePhrase(format: format, width: width, height: height, bytes: bytes) }
}
