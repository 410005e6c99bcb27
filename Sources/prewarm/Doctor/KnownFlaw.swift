/// Versions of libraries with a flaw by which an image or a response can take over the process, for `prewarm doctor`.
///
/// Few and grave ones only: this doesn't replace the updates of the system. The sources are the CVE records, and the changelogs of Debian's
/// packages (/usr/share/doc/PACKAGE/changelog.Debian.gz).
struct KnownFlaw {
  /// The beginning of the package's name, to the version of its interface.
  let library: String
  let number: String
  /// What triggers it.
  let trigger: String
  /// The first package of Debian 12 without it.
  let debian: String
  /// The first release without it; nil if only packages count.
  let release: String?

  static let all = [
    KnownFlaw("libwebp", "CVE-2023-4863", "WebP images", debian: "1.2.4-0.2+deb12u1", release: "1.3.2"),
    KnownFlaw("libcurl", "CVE-2023-38545", "long host names by a SOCKS5 proxy", debian: "7.88.1-10+deb12u4", release: "8.4.0"),
    KnownFlaw("libheif", "CVE-2024-41311", "HEIC images", debian: "1.15.1-1+deb12u1"),
    KnownFlaw("libde265-", "CVE-2026-33165", "HEIC images", debian: "1.0.11-1+deb12u3"),
    KnownFlaw("libtiff", "CVE-2025-9900", "TIFF images", debian: "4.5.0-6+deb12u3"),
    KnownFlaw("libpng16-", "CVE-2026-33416", "PNG images", debian: "1.6.39-2+deb12u4"),
    KnownFlaw("libgif", "CVE-2026-26740", "GIF images", debian: "5.2.1-2.5+deb12u1"),
    KnownFlaw("libjxl", "CVE-2024-11498", "JPEG XL images", debian: "0.7.0-10+deb12u1"),
    KnownFlaw("libdav1d", "CVE-2024-1580", "AVIF images", debian: "1.0.0-2+deb12u1"),
    KnownFlaw("libexpat", "CVE-2024-45491", "sitemaps and SVG images", debian: "2.5.0-1+deb12u1"),
  ]

  private init(_ library: String, _ number: String, _ trigger: String, debian: String, release: String? = nil) {
    (self.library, self.number, self.trigger, self.debian, self.release) = (library, number, trigger, debian, release)
  }

  /// A sentence for each library with a flaw.
  ///
  /// - Parameters:
  ///   - libraries: each a path, and in parentheses its package and the version, if known.
  ///   - releases: what libraries themselves say, which counts if their package isn't known.
  static func warnings(_ libraries: [String], releases: [String: String]) -> [String] {
    let packages = libraries.compactMap { library -> (name: Substring, version: Substring)? in
      guard library.hasSuffix(")"), let start = library.lastIndex(of: "(") else { return nil }
      let words = library[library.index(after: start)...].dropLast().split(separator: " ")
      return words.count == 2 ? (words[0], words[1]) : nil
    }
    return all.compactMap { flaw in
      if let (name, version) = packages.first(where: { flaw.isAbout($0.name) }) {
        return flaw.isIn(package: version) ? flaw.warning("\(name) \(version)", flaw.debian) : nil
      }
      guard let known = releases[flaw.library], let fixed = flaw.release, DebianVersion(known[...]) < DebianVersion(fixed[...])
      else {
        return nil
      }
      return flaw.warning("\(flaw.library) \(known)", fixed)
    }
  }

  private func warning(_ version: String, _ fixed: String) -> String {
    "\(version) can be attacked by \(trigger) (\(number)); update it to \(fixed) or later"
  }

  private func isAbout(_ package: Substring) -> Bool {
    package.hasPrefix(library) && package.dropFirst(library.count).allSatisfy { $0.isNumber || $0 == "." || $0 == "t" }
  }

  /// Of other upstream versions, and of other distributions, the version doesn't show which fixes a package has.
  private func isIn(package version: Substring) -> Bool {
    guard let end = debian.lastIndex(of: "-"), version.hasPrefix(debian[...end]), !version.contains("ubuntu") else {
      return false
    }
    return DebianVersion(version) < DebianVersion(debian[...])
  }
}

/// A version as dpkg compares it (deb-version(7)): the epoch; then in turn text, in which letters come before other characters and `~`
/// comes before the end, and numbers.
struct DebianVersion: Comparable {
  private let parts: [[Part]]

  private struct Part: Comparable {
    /// Ranks of the characters, with that of the end.
    let text: [Int]
    let number: Int

    static func < (left: Part, right: Part) -> Bool {
      left.text == right.text ? left.number < right.number : left.text.lexicographicallyPrecedes(right.text)
    }
  }

  init(_ version: Substring) {
    let colon = version.firstIndex(of: ":")
    let rest = colon.map { version[version.index(after: $0)...] } ?? version
    let dash = rest.lastIndex(of: "-") ?? rest.endIndex
    parts = [colon.map { version[..<$0] } ?? "0", rest[..<dash], rest[dash...].dropFirst()].map(Self.parts)
  }

  private static func parts(_ text: Substring) -> [Part] {
    var (parts, rest) = ([Part](), text)
    while !rest.isEmpty {
      let word = rest.prefix { !$0.isNumber }
      let digits = rest.dropFirst(word.count).prefix { $0.isNumber }
      parts.append(Part(text: word.unicodeScalars.map(rank) + [0], number: Int(digits) ?? 0))
      rest = rest.dropFirst(word.count + digits.count)
    }
    return parts
  }

  private static func rank(_ scalar: Unicode.Scalar) -> Int {
    scalar == "~" ? -1 : scalar.properties.isAlphabetic ? Int(scalar.value) : Int(scalar.value) + 256
  }

  static func < (left: DebianVersion, right: DebianVersion) -> Bool {
    for (one, other) in zip(left.parts, right.parts) where one != other {
      // A missing part is an empty text and the number 0.
      let (count, none) = (max(one.count, other.count), Part(text: [0], number: 0))
      let padded = [one, other].map { $0 + Array(repeating: none, count: count - $0.count) }
      if padded[0] != padded[1] { return padded[0].lexicographicallyPrecedes(padded[1]) }
    }
    return false
  }
}
