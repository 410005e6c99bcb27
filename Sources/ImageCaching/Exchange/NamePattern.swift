import Base

/// A pattern for the names of exported files, such as `{id}.{ext}`.
///
/// | field | value |
/// |---|---|
/// | `{id}` | the identifier in the list; without one, the hash |
/// | `{hash}` | MD5 of the URL, in 32 digits |
/// | `{host}` | the host, with a port as in ``ExportLayout/urlPath`` |
/// | `{path}` | path and name as in ``ExportLayout/urlPath``, with a hash for a query; only at the end |
/// | `{ext}` | the extension of the image's format |
///
/// Bytes of a value that a name can't have become `_`. A name that another URL has already gets the hash before its extension.
package struct NamePattern: Sendable, Hashable {
  /// A field, named as in patterns.
  enum Field: String, CaseIterable {
    case id, hash, host, path, ext
  }

  enum Part: Sendable, Hashable {
    case text(String)
    case field(Field)
  }

  let parts: [Part]

  /// The fields, for errors.
  private static let fieldList = Field.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")

  /// Why a text isn't a pattern.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// Parses a pattern.
  package init(_ text: String) throws(Failure) {
    var parts: [Part] = []
    var rest = text[...]
    while let start = rest.firstIndex(of: "{") {
      guard let end = rest[start...].firstIndex(of: "}"), let field = Field(rawValue: String(rest[start...].dropFirst()[..<end]))
      else { throw Failure(description: "has an unknown field; use \(Self.fieldList)") }
      parts += [.text(String(rest[..<start])), .field(field)]
      rest = rest[rest.index(after: end)...]
    }
    parts.append(.text(String(rest)))
    self.parts = parts.filter { $0 != .text("") }
    try check(text)
  }

  private func check(_ text: String) throws(Failure) {
    let fields = parts.compactMap { part in if case .field(let field) = part { field } else { nil } }
    guard fields.contains(where: { [.id, .hash, .path].contains($0) }) else {
      throw Failure(description: "gives all images of a host one name; add {id}, {hash} or {path}")
    }
    if let index = parts.firstIndex(of: .field(.path)), index != parts.count - 1 {
      throw Failure(description: "has more after {path}, which ends with the file's name")
    }
    for name in text.split(separator: "/", omittingEmptySubsequences: false) {
      guard !name.isEmpty, !name.hasPrefix("."), URLPathName.hasPlainBytes(String(name), extra: "{}") else {
        throw Failure(description: "has a name that is empty, hidden or has other characters than letters, digits and -_.%@+,=~")
      }
    }
  }

  /// Whether names contain the identifiers of lists.
  package var usesIDs: Bool { parts.contains(.field(.id)) }

  /// The folders and the file of an image.
  func name(_ url: UnsafeRawBufferPointer, digits: String, id: String?, format: ImageFormat?, isTransformed: Bool) -> (
    folders: [String], file: String
  ) {
    let layout = URLPathName(url: url, digits: digits, format: isTransformed ? format : nil)
    let path = parts.map { part in
      switch part {
      case .text(let text): text
      case .field(.id): id.flatMap { $0.isEmpty ? nil : URLPathName.plainName($0) } ?? digits
      case .field(.hash): digits
      case .field(.host): layout.folders[0]
      case .field(.path): (layout.folders.dropFirst() + [layout.file]).joined(separator: "/")
      case .field(.ext): format?.fileExtension ?? "img"
      }
    }.joined()
    let names = path.split(separator: "/").map(String.init)
    return (names.dropLast(), names.last ?? digits)
  }
}
