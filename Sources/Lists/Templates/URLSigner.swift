import Base

/// Signs URLs for an image service that makes images only for those who know its key.
package struct URLSigner: Sendable, CustomStringConvertible, CustomReflectable {
  package enum Service: String, Sendable, CaseIterable {
    /// https://docs.imgproxy.net/usage/signing_url
    case imgproxy
    /// https://thumbor.readthedocs.io/en/latest/security.html
    case thumbor
    /// https://cloudinary.com/documentation/delivery_url_signatures
    case cloudinary
  }

  /// Stands for the signature in a URL that isn't signed yet: a segment of its path, in normal form.
  static let placeholder: StaticString = "~signature~"

  /// First segments of unsigned URLs, in the place of a signature.
  private static let unsigned: [StaticString] = ["unsafe", "insecure"]
  /// Segments after `image` in URLs of Cloudinary.
  private static let deliveryTypes: [StaticString] = ["upload", "private", "authenticated", "fetch"]
  private static let cloudinaryLength = 8

  private let service: Service
  private let key: [UInt8]
  private let salt: [UInt8]

  /// Creates a signer with a service's key; imgproxy's key and salt are hexadecimal, and the others have no salt.
  package init(_ service: Service, key: String, salt: String? = nil) throws(InvalidSigningKey) {
    self.service = service
    if key.isEmpty { throw .emptyKey }
    guard service == .imgproxy else {
      (self.key, self.salt) = (Array(key.utf8), [])
      return
    }
    guard let key = Self.secret(hexadecimal: key) else { throw .keyNotHexadecimal }
    guard let salt = salt.flatMap(Self.secret) else { throw .saltNotHexadecimal }
    (self.key, self.salt) = (key, salt)
  }

  /// Hides the key from logs.
  package var description: String { "\(service) ***" }
  package var customMirror: Mirror { Mirror(self, children: []) }

  private static func secret(hexadecimal text: String) -> [UInt8]? { text.isEmpty ? nil : bytes(hexadecimal: text.utf8) }

  /// Inserts the signature into a URL in normal form, which it keeps.
  ///
  /// - Parameter hasPlaceholder: whether the signature replaces ``placeholder``; otherwise it stands where the service expects it.
  func sign(_ url: inout [UInt8], _ parts: URLParts, hasPlaceholder: Bool) throws(UnsignableURL) {
    let slot: Range<Int>
    if hasPlaceholder {
      guard let segment = Self.segment(of: url, parts.path, where: { $0.isWord(Self.placeholder) }) else { throw .misplaced }
      slot = segment
    } else {
      guard let usual = usualSlot(in: url, parts.path) else { throw .notOfCloudinary }
      slot = usual
    }
    // Services verify the path as it is sent, without the query.
    var rest = url[slot.upperBound..<parts.path.upperBound]
    if !slot.isEmpty, rest.popFirst() != UInt8(ascii: "/") { throw .nothingToSign }
    if rest.isEmpty { throw .nothingToSign }
    var signature = signature(of: rest)
    if slot.isEmpty { signature.append(UInt8(ascii: "/")) }
    url.replaceSubrange(slot, with: signature)
  }

  private func signature(of rest: ArraySlice<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    switch service {
    case .imgproxy:
      text.append(base64URL: (salt + [UInt8(ascii: "/")] + rest).withRawBytes { hmac(.sha256, key: key, of: $0) })
    case .thumbor: text.append(base64URL: rest.withRawBytes { hmac(.sha1, key: key, of: $0) }, isPadded: true)
    case .cloudinary:
      text.append(base64URL: (Self.withoutVersion(rest) + key).withRawBytes { sha1(of: $0) })
      text = Array("s--".utf8) + text.prefix(Self.cloudinaryLength) + Array("--".utf8)
    }
    return text
  }

  /// Cloudinary signs the transformation and the public ID, but not the version between them, such as `v1234`.
  private static func withoutVersion(_ path: ArraySlice<UInt8>) -> [UInt8] {
    var segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let version = segments.dropLast().firstIndex { segment in
      segment.first == UInt8(ascii: "v") && segment.count > 1 && segment.dropFirst().allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
    }
    if let version { segments.remove(at: version) }
    return Array(segments.joined(separator: [UInt8(ascii: "/")]))
  }

  /// The range that the signature replaces, empty where it is inserted with a slash; nil if the URL isn't one of the service.
  private func usualSlot(in url: [UInt8], _ path: Range<Int>) -> Range<Int>? {
    let start = path.lowerBound + 1
    guard service == .cloudinary else {
      let first = start..<(url[start..<path.upperBound].firstIndex(of: UInt8(ascii: "/")) ?? path.upperBound)
      return Self.unsigned.contains { url[first].isWord($0) } ? first : start..<start
    }
    var isAfterImage = false
    let type = Self.segment(of: url, path) { segment in
      defer { isAfterImage = segment.isWord("image") }
      return isAfterImage && Self.deliveryTypes.contains { segment.isWord($0) }
    }
    guard let type, type.upperBound < path.upperBound else { return nil }
    return (type.upperBound + 1)..<(type.upperBound + 1)
  }

  /// The range of the first segment of the path that fits.
  private static func segment(of url: [UInt8], _ path: Range<Int>, where fits: (ArraySlice<UInt8>) -> Bool) -> Range<Int>? {
    url[path].split(separator: UInt8(ascii: "/")).first(where: fits)?.indices
  }
}

extension ArraySlice<UInt8> {
  fileprivate func isWord(_ word: StaticString) -> Bool { word.withUTF8Buffer { elementsEqual($0) } }
}

/// The reason why a signer can't be created.
package enum InvalidSigningKey: Error, Sendable, Hashable {
  case emptyKey, keyNotHexadecimal, saltNotHexadecimal
}

/// The reason why a URL can't be signed.
enum UnsignableURL: Error {
  /// The placeholder isn't a segment of the path.
  case misplaced
  case notOfCloudinary
  /// The path ends where the signature would be.
  case nothingToSign

  var message: String {
    switch self {
    case .misplaced:
      "{signature} isn't a part of the path between two slashes; write it as in https://img.example.com/{signature}/{path}"
    case .notOfCloudinary: "the path lacks /image/upload/, after which Cloudinary expects it; write {signature} into the template"
    case .nothingToSign: "the path has nothing to sign after the signature"
    }
  }
}
