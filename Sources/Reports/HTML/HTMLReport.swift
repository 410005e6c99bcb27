import Base

/// One self-contained page for a browser: the most important part comes first, and everything is visible without JavaScript.
///
/// It contains its own style, script and pictures, and its policy forbids any other (Content Security Policy Level 3, by hash).
/// It stays below 5 MB for 10,000 failures and below 6 MB for a run of any size: every list has a limit in rows and in bytes, and counts the rest, which a report
/// of rows has. Text from outside is escaped in one place, ``HTMLForm``.
struct HTMLReport: ReportForm {
  func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    output.append(HTMLPage(report: report).document.markup)
  }
}

/// A file beside this one, which is a part of each page.
struct EmbeddedPart {
  /// One column, light and dark, for wide and narrow screens and for paper. No rule loads anything, and no element has a style attribute:
  /// the policy forbids both.
  static let style = EmbeddedPart(PackageResources.page_css)
  /// Sorts and filters tables, filters failures by chips, copies URLs and curl lines. It reads only the page and creates its controls
  /// itself, so that a page without JavaScript has no dead controls.
  static let script = EmbeddedPart(PackageResources.page_js)

  let source: String
  /// Its hash as the page's policy names it.
  let policy: String

  private init(_ bytes: [UInt8]) {
    source = String(decoding: bytes, as: UTF8.self)
    policy = "'sha256-\(String(decoding: bytes.withUnsafeBytes { sha256(of: $0) }.base64, as: UTF8.self))'"
  }
}
