extension HTMLPage {
  /// What a page shows of a URL at most, in scalars.
  static let urlLimit = 300

  /// A URL from outside: a link where following it asks just what is shown.
  ///
  /// - Parameter name: Shown in its place where there is little room; the URL is then told to who points at it.
  mutating func url(_ url: String, as name: String? = nil) {
    let title = name == nil ? nil : url.shortened(to: Self.urlLimit)
    let content = { (page: inout HTMLPage) in page.text(name ?? url, limit: Self.urlLimit) }
    guard url.isSafeLink else { return element("span", ["class": "url", "title": title], content) }
    // The page sends no referrer (rel, and the policy at its head), and the server's page cannot reach back into this one.
    element(
      "a",
      ["class": "url", "href": url, "title": title, "target": "_blank", "rel": "noreferrer noopener nofollow"],
      content
    )
  }

  /// A line for a shell, which the script lets copy.
  mutating func shellLine(_ line: String) {
    element("div", ["class": "line"]) { $0.element("code", line) }
  }
}

extension String {
  /// Whether this is the very URL of an image on a server: of http or https, not too long for a page, and with nothing in it that
  /// is hidden, masked, or was no UTF-8.
  var isSafeLink: Bool {
    guard utf8.count <= 2048, hasWebScheme, !contains("***@") else { return false }
    return unicodeScalars.allSatisfy { !isHidden($0.value) && $0 != " " && $0 != "\u{FFFD}" && $0 != "\\" }
  }

  private var hasWebScheme: Bool {
    let scheme = String(unicodeScalars.prefix(8)).lowercased()
    return scheme.hasPrefix("http://") || scheme == "https://"
  }
}
