/// Parses and writes numbers with units: `64KiB`, `1.5GB`, `500ms`, `100MP`, `0.5%`.
package enum Quantities {
  private static let sizeUnits = [
    "": 1, "B": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
  ]
  private static let pixelUnits = ["": 1, "KP": 1_000, "MP": 1_000_000, "GP": 1_000_000_000]
  private static let millisecondUnits = ["ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]

  /// The longest duration of a job file: a hundred years.
  static let maximumDuration = Duration.seconds(100 * 365 * 86_400)

  /// Bytes of a size; nil for any other text.
  static func size(_ text: String) -> Int? { scaled(text, units: sizeUnits) }

  static func pixels(_ text: String) -> Int? { scaled(text, units: pixelUnits) }

  /// A duration; nil for any other text, including a number without unit.
  package static func duration(_ text: String) -> Duration? {
    scaled(text, units: millisecondUnits).map { .milliseconds($0) }.flatMap { $0 <= maximumDuration ? $0 : nil }
  }

  /// A rate per second; nil for any other text and for zero.
  static func rate(_ text: String) -> Double? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let seconds = ["s": 1.0, "m": 60, "h": 3600][parts[1]],
      let millionths = scaled(String(parts[0]), units: ["": 1_000_000]), millionths > 0
    else { return nil }
    return Double(millionths) / 1_000_000 / seconds
  }

  /// `50%` as 0.5; nil for any other text and beyond 100 %.
  static func percentage(_ text: String) -> Double? {
    guard text.hasSuffix("%"), let millionths = scaled(String(text.dropLast()), units: ["": 1_000_000]) else { return nil }
    return millionths <= 100_000_000 ? Double(millionths) / 100_000_000 : nil
  }

  /// The size with its best unit, such as `64MiB`.
  static func text(size: Int) -> String {
    written(size, [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)], else: "")
  }

  static func text(pixels: Int) -> String {
    written(pixels, [("GP", 1_000_000_000), ("MP", 1_000_000), ("KP", 1_000)], else: "")
  }

  /// The duration with its best unit, such as `7d` or `500ms`.
  static func text(duration: Duration) -> String {
    let milliseconds = Int(duration / .milliseconds(1))
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)]
    return milliseconds == 0 ? "0s" : written(milliseconds, units, else: "ms")
  }

  /// The fraction as a percentage, such as `12.5%`.
  static func text(fraction: Double) -> String {
    let percent = fraction * 100
    return percent == percent.rounded() ? "\(Int(percent))%" : "\(percent)%"
  }

  /// The number in the largest unit of which it is a multiple, two or more.
  private static func written(_ number: Int, _ units: [(name: String, factor: Int)], else smallest: String) -> String {
    guard let unit = units.first(where: { number >= 2 * $0.factor && number % $0.factor == 0 }) else {
      return "\(number)\(smallest)"
    }
    return "\(number / unit.factor)\(unit.name)"
  }

  /// A whole number in decimal digits; nil for any other text.
  static func count(_ text: String) -> Int? {
    !text.isEmpty && text.utf8.allSatisfy(\.isDigit) ? Int(text) : nil
  }

  /// A number with at most six decimals times its unit, rounded down; nil for other texts and on overflow.
  private static func scaled(_ text: String, units: [String: Int]) -> Int? {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard let unit = units[String(text[digits.endIndex...])], let first = digits.first, first != "." else { return nil }
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, let whole = count(String(parts[0])) else { return nil }
    let (product, overflow) = whole.multipliedReportingOverflow(by: unit)
    if overflow { return nil }
    guard parts.count == 2 else { return product }
    guard parts[1].utf8.count <= 6, let decimals = count(String(parts[1])) else { return nil }
    var divisor = 1
    for _ in parts[1].utf8 { divisor *= 10 }
    // Six digits times 2⁴⁰, the largest unit, fit.
    let (sum, sumOverflow) = product.addingReportingOverflow(decimals * unit / divisor)
    return sumOverflow ? nil : sum
  }
}
