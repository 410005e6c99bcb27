/// How many pixels of an image make one point of a layout, by its name.
public enum ImageScale {
  /// The factor in the name of a file or in a URL: 2 for `a@2x.png`, 3 for `a@3x.png`, otherwise 1 (SDWebImage's `SDImageScaleFactorForKey`).
  ///
  /// It stands before a dot in the last part of the path, the at sign as it is or as `%40`; queries and fragments are not looked at. An image of 200 pixels
  /// and factor 2 is 100 points wide.
  public static func factor(inName name: some StringProtocol) -> Double {
    var path = Substring(name)
    if let end = path.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) { path = path[..<end] }
    if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) { path = path[path.utf8.index(after: slash)...] }
    let file = Array(path.utf8)
    for (factor, marks) in [(2.0, ["@2x.", "%402x."]), (3.0, ["@3x.", "%403x."])] where marks.contains(where: file.contains) {
      return factor
    }
    return 1
  }
}

extension [UInt8] {
  fileprivate func contains(_ text: String) -> Bool {
    indices.contains { self[$0...].starts(with: text.utf8) }
  }
}
