package import ImagePrimitives

/// A number in hexadecimal, in lower case unless it `isUppercase`, with zeros before it up to so many digits.
package func hexadecimal(_ value: UInt64, digits: Int = 16, isUppercase: Bool = false) -> String {
  let text = String(value, radix: 16, uppercase: isUppercase)
  return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}

extension Checksum {
  /// 32 hexadecimal digits in lower case.
  package var hexadecimal: String { Reports.hexadecimal(high) + Reports.hexadecimal(low) }
}
