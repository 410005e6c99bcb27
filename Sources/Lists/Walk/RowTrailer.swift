import Base

/// What a spooled row has besides its URL.
struct RowTrailer {
  var problem: String?
  var note: EntryNote?
  /// The URL by which a crawl counts its pages, if it isn't the row's own.
  var original: String?

  /// Its encoded form is shorter than 65,536 bytes.
  private static let maximumProblemBytes = 32 << 10
  private static let maximumTextBytes = 4 << 10

  /// Nil if there is nothing.
  init?(_ row: Row) {
    guard row.problem != nil || row.note != nil else { return nil }
    problem = row.problem
    note = row.note
    if row.note?.origin != nil { original = row.original.map { String(decoding: $0, as: UTF8.self) } }
  }

  init(note: EntryNote) { self.note = note }

  var encoded: [UInt8] {
    var writer = Writer()
    writer.put(problem, maximum: Self.maximumProblemBytes)
    guard let note else { return writer.bytes }
    writer.put(note.id, maximum: Self.maximumTextBytes)
    writer.put(note.modified?.milliseconds)
    writer.put(note.origin?.element, maximum: Self.maximumTextBytes)
    writer.put(note.origin?.attribute, maximum: Self.maximumTextBytes)
    writer.put(original, maximum: URLNormalizer.maximumURLBytes)
    writer.put(UInt8(clamping: note.claims.count))
    for claims in note.claims {
      writer.put(claims.sourceWidth)
      writer.put(claims.density?.bitPattern)
      writer.put(claims.width)
      writer.put(claims.height)
      writer.put(claims.format?.rawValue)
      writer.put(claims.hasSizes ? 1 : 0 as UInt8)
    }
    guard let expectation = note.expectation else { return writer.bytes }
    writer.bytes += [UInt8(expectation.sha256?.count ?? 0)] + (expectation.sha256 ?? [])
    writer.put(expectation.width)
    writer.put(expectation.height)
    writer.put(expectation.bytes)
    writer.put(expectation.format?.rawValue)
    return writer.bytes
  }

  init(decoding bytes: Slice<UnsafeRawBufferPointer>) {
    var reader = Reader(rest: bytes)
    problem = reader.text()
    guard !reader.rest.isEmpty else { return }
    let id = reader.text()
    let modified = reader.number().map { Timestamp(milliseconds: $0) }
    let (element, attribute) = (reader.text(), reader.text())
    original = reader.text()
    let origin = element.map { PageOrigin(element: $0, attribute: attribute ?? "") }
    let claims = (0..<(reader.byte())).map { _ in
      var claims = ImageClaims()
      claims.sourceWidth = reader.number()
      claims.density = reader.number().map(Double.init(bitPattern:))
      claims.width = reader.number()
      claims.height = reader.number()
      claims.format = reader.number().flatMap(ImageFormat.init(rawValue:))
      claims.hasSizes = reader.byte() == 1
      return claims
    }
    var expectation: ImageExpectation?
    if !reader.rest.isEmpty {
      let sha256 = reader.bytes(Int(reader.byte()))
      expectation = ImageExpectation(
        sha256: sha256.isEmpty ? nil : sha256,
        width: reader.number(),
        height: reader.number(),
        bytes: reader.number(),
        format: reader.number().flatMap(ImageFormat.init(rawValue:))
      )
    }
    note = EntryNote(id: id, origin: origin, expectation: expectation, claims: claims, modified: modified)
  }
}

extension RowTrailer {
  /// Texts have a length in two bytes, and optional values a byte that says whether they are there.
  private struct Writer {
    var bytes: [UInt8] = []

    mutating func put(_ value: UInt8) { bytes.append(value) }

    mutating func put(_ text: String?, maximum: Int) {
      put(text == nil ? 0 : 1 as UInt8)
      guard let text else { return }
      let utf8 = text.utf8.prefix(maximum)
      withUnsafeBytes(of: UInt16(utf8.count)) { bytes += $0 }
      bytes += utf8
    }

    mutating func put<Number: FixedWidthInteger>(_ number: Number?) {
      put(number == nil ? 0 : 1 as UInt8)
      if let number { withUnsafeBytes(of: number) { bytes += $0 } }
    }
  }

  private struct Reader {
    var rest: Slice<UnsafeRawBufferPointer>

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func bytes(_ count: Int) -> [UInt8] {
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }

    mutating func text() -> String? {
      guard byte() == 1 else { return nil }
      let count: UInt16 = load()
      return String(decoding: bytes(Int(count)), as: UTF8.self)
    }

    mutating func number<Number: FixedWidthInteger>() -> Number? { byte() == 1 ? load() : nil }

    private mutating func load<Number: FixedWidthInteger>() -> Number {
      bytes(MemoryLayout<Number>.size).withUnsafeBytes {
        $0.count < MemoryLayout<Number>.size ? 0 : $0.loadUnaligned(as: Number.self)
      }
    }
  }
}
