package import Base

/// A count with a comma between thousands, such as `10,000`.
package func grouped(_ value: UInt64) -> String {
  var digits = String(value)
  var position = digits.endIndex
  while let next = digits.index(position, offsetBy: -3, limitedBy: digits.startIndex), next > digits.startIndex {
    digits.insert(",", at: next)
    position = next
  }
  return digits
}

/// A sentence of any part of prewarm, or of a library, with a comma between the thousands of its counts, as in all figures.
///
/// Counts stand alone between spaces and punctuation: parts of URLs, paths, times and quoted texts don't, and names that are numbers follow
/// their noun.
package func groupingDigits(in sentence: String) -> String {
  guard sentence.utf8.count <= 4096, hasLongNumber(sentence) else { return sentence }
  let bytes = Array(sentence.utf8)
  var (result, start, index) = ([UInt8](), 0, 0)
  func isDigit(_ index: Int) -> Bool { index < bytes.count && (0x30...0x39).contains(bytes[index]) }
  func isEnd(_ index: Int) -> Bool {
    index >= bytes.count || " );".utf8.contains(bytes[index])
      || ",.:".utf8.contains(bytes[index]) && (index + 1 == bytes.count || bytes[index + 1] == UInt8(ascii: " "))
  }
  while index < bytes.count {
    var end = index
    while isDigit(end) { end += 1 }
    let isAlone = index == 0 || " (".utf8.contains(bytes[index - 1])
    if (4...19).contains(end - index), bytes[index] != UInt8(ascii: "0"), isAlone, isEnd(end), !namesNumber(bytes[..<index]) {
      result += bytes[start..<index] + grouped(UInt64(String(decoding: bytes[index..<end], as: UTF8.self))!).utf8
      start = end
    }
    index = max(end, index + 1)
  }
  return start == 0 ? sentence : String(decoding: result + bytes[start...], as: UTF8.self)
}

/// Whether there are four digits in a row.
private func hasLongNumber(_ sentence: String) -> Bool {
  var digits = 0
  for byte in sentence.utf8 {
    digits = (0x30...0x39).contains(byte) ? digits + 1 : 0
    if digits == 4 { return true }
  }
  return false
}

/// Whether the last word is one whose number is a name.
private func namesNumber(_ bytes: ArraySlice<UInt8>) -> Bool {
  let word = bytes.split(separator: UInt8(ascii: " ")).last.map { String(decoding: $0, as: UTF8.self).lowercased() }
  return ["port", "line", "status", "code", "error", "pid", "process", "id", "version", "errno"].contains(word)
}

/// A count with its noun, such as `1 URL` and `10,000 URLs`.
package func counted(_ value: UInt64, _ noun: String, plural: String? = nil) -> String {
  "\(grouped(value)) \(value == 1 ? noun : plural ?? noun + "s")"
}

/// A number with exactly `decimals` decimals, rounded half up.
func fixed(_ value: Double, decimals: Int) -> String {
  var scale = 1.0
  for _ in 0..<decimals { scale *= 10 }
  let scaled = UInt64(min(max((value * scale).rounded(), 0), 1e18))
  guard decimals > 0 else { return grouped(scaled) }
  let fraction = String(scaled % UInt64(scale))
  return grouped(scaled / UInt64(scale)) + "." + String(repeating: "0", count: decimals - fraction.count) + fraction
}

/// A number with one decimal if it is below 100 and the decimal isn't 0.
private func short(_ value: Double) -> String {
  let text = fixed(value, decimals: value < 99.95 ? 1 : 0)
  return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
}

/// A share in percent with one decimal; `<0.1 %` and `>99.9 %` for shares that would wrongly round to 0 or 100.
package func percent(_ part: UInt64, of whole: UInt64) -> String {
  guard whole > 0 else { return "0.0 %" }
  let share = Double(part) / Double(whole) * 100
  if part > 0, share < 0.05 { return "<0.1 %" }
  if part < whole, share >= 99.95 { return ">99.9 %" }
  return fixed(share, decimals: 1) + " %"
}

/// A share in percent above a limit, with enough decimals to differ from it.
func percent(_ part: UInt64, of whole: UInt64, beyond limit: Double) -> String {
  let share = percent(part, of: whole)
  let exact = Double(part) / Double(max(whole, 1))
  guard fixed(exact * 100, decimals: 1) == fixed(limit * 100, decimals: 1), !share.hasPrefix("<") else { return share }
  return percent(exact)
}

/// A limit in percent with up to four decimals.
func percent(_ fraction: Double) -> String {
  var text = fixed(fraction * 100, decimals: 4)
  while text.hasSuffix("0") { text.removeLast() }
  if text.hasSuffix(".") { text.removeLast() }
  return text + " %"
}

/// Bytes in decimal units, such as `71.2 MB`.
package func byteCount(_ bytes: Double) -> String {
  var value = bytes
  var unit = "B"
  for larger in ["kB", "MB", "GB", "TB", "PB"] where value >= 999.5 {
    value /= 1000
    unit = larger
  }
  return "\(short(value)) \(unit)"
}

/// A size of at least `bytes`, rounded up to two digits, as job files accept it: `3.3GB`.
package func sizeAbove(_ bytes: UInt64) -> String {
  var step: UInt64 = 1
  while bytes / step >= 100 { step *= 10 }
  let rounded = (bytes + step - 1) / step * step
  let (unit, name): (UInt64, String) =
    switch rounded {
    case 1_000_000_000...: (1_000_000_000, "GB")
    case 1_000_000...: (1_000_000, "MB")
    case 1_000...: (1_000, "kB")
    default: (1, "B")
    }
  let tenths = rounded % unit * 10 / unit
  return "\(rounded / unit)\(tenths > 0 ? ".\(tenths)" : "")\(name)"
}

/// A rate of events, such as `1,240/s` or `0.4/s`.
package func rate(_ perSecond: Double) -> String {
  if perSecond > 0, perSecond < 0.05 { return "<0.1/s" }
  return fixed(perSecond, decimals: perSecond < 9.95 && perSecond > 0 ? 1 : 0) + "/s"
}

/// A duration, such as `4 ms`, `0.4 s`, `2 min 5 s`, `3 h 12 min`.
package func elapsed(_ duration: Duration) -> String {
  let seconds = max(duration.inSeconds, 0)
  if seconds < 0.0995 { return fixed(seconds * 1000, decimals: 0) + " ms" }
  if seconds < 59.95 { return fixed(seconds, decimals: 1) + " s" }
  let whole = UInt64(seconds.rounded())
  if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
  return "\(grouped(whole / 3600)) h \(whole / 60 % 60) min"
}

/// A latency, such as `<0.1 ms`, `0.3 ms`, `310 ms`, `2.5 s`.
func latency(_ milliseconds: Double) -> String {
  if milliseconds > 0, milliseconds < 0.05 { return "<0.1 ms" }
  if milliseconds < 9.95 { return fixed(milliseconds, decimals: 1) + " ms" }
  if milliseconds < 999.5 { return fixed(milliseconds, decimals: 0) + " ms" }
  return short(milliseconds / 1000) + " s"
}

/// The known properties of an image, such as `jpeg, 1,200 × 800, 120 kB`.
package func imagePhrase(format: ImageFormat?, width: UInt32, height: UInt32, bytes: UInt64) -> String {
  let size = width > 0 && height > 0 ? "\(grouped(UInt64(width))) × \(grouped(UInt64(height)))" : nil
  let parts = [format?.name, size, bytes > 0 ? byteCount(Double(bytes)) : nil]
  return parts.compactMap(\.self).joined(separator: ", ")
}

extension String {
  /// This text, or its first `limit` scalars, an ellipsis and its length.
  package func shortened(to limit: Int) -> String {
    guard utf8.count > limit else { return self }
    let start = unicodeScalars.prefix(limit)
    return start.endIndex == unicodeScalars.endIndex ? self : "\(String(start))… (\(byteCount(Double(utf8.count))))"
  }
}
