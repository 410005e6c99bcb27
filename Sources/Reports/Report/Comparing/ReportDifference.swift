package import Base

/// An entry whose result differs from that in the earlier report.
package struct ReportDifference: Sendable, Equatable {
  package enum Change: String, Sendable, CaseIterable {
    /// It was good and is bad.
    case broke
    /// It was bad and is good.
    case healed
    /// It was good and still is, but is another image.
    case changed
  }

  /// The result of the entry in one of the reports.
  package struct End: Sendable, Equatable {
    /// Why it was bad; nil if it was good, or that is unknown.
    package var kind: FailureKind?
    /// The HTTP status of a bad entry; nil if the server sent none.
    package var status: Int?
    /// The image's format, if it was good.
    package var format: ImageFormat?
    /// In pixels; 0 if unknown.
    package var width: UInt32
    /// In pixels; 0 if unknown.
    package var height: UInt32
    /// 0 if unknown.
    package var bytes: UInt64
  }

  package struct Aspects: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let format = Aspects(rawValue: 1)
    package static let size = Aspects(rawValue: 2)
    package static let bytes = Aspects(rawValue: 4)
    /// Other bytes of the same length.
    package static let content = Aspects(rawValue: 8)

    package var names: [String] {
      [(Aspects.format, "format"), (.size, "size"), (.bytes, "bytes"), (.content, "content")].filter { contains($0.0) }.map(\.1)
    }
  }

  package var change: Change
  /// The differing properties of the image; empty unless it ``Change/changed``.
  package var aspects: Aspects
  package var url: String
  package var variant: RequestVariant
  package var manifest: String
  /// 0 if it has none.
  package var line: UInt64
  package var before: End
  package var after: End
}

extension ReportDifference.End {
  init(_ facts: EntryFacts) {
    kind = facts.kind
    status = facts.status == 0 ? nil : Int(facts.status)
    format = facts.format
    (width, height, bytes) = (facts.width, facts.height, facts.bytes)
  }
}

extension EntryFacts {
  /// The properties in which two good results differ, as far as both are known; none for an original and a transformed image.
  func aspects(differingFrom other: EntryFacts) -> ReportDifference.Aspects {
    var aspects: ReportDifference.Aspects = []
    guard isTransformed == other.isTransformed else { return aspects }
    if let format, let otherFormat = other.format, format != otherFormat { aspects.insert(.format) }
    if width > 0, other.width > 0, (width, height) != (other.width, other.height) { aspects.insert(.size) }
    if bytes > 0, other.bytes > 0 {
      if bytes != other.bytes {
        aspects.insert(.bytes)
      } else if hash != 0, other.hash != 0, hash != other.hash {
        aspects.insert(.content)
      }
    }
    return aspects
  }
}
