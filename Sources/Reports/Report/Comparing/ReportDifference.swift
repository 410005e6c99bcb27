public import ImagePrimitives

/// An entry whose result differs from that in the earlier report.
public struct ReportDifference: Sendable, Equatable {
  public enum Change: String, Sendable, CaseIterable {
    /// It was good and is bad.
    case broke
    /// It was bad and is good.
    case healed
    /// It was good and still is, but is another image.
    case changed
  }

  /// The result of the entry in one of the reports.
  public struct End: Sendable, Equatable {
    /// Why it was bad; nil if it was good, or that is unknown.
    public var kind: FailureKind?
    /// The HTTP status of a bad entry; nil if the server sent none.
    public var status: Int?
    /// The image's format, if it was good.
    public var format: ImageFormat?
    /// In pixels; 0 if unknown.
    public var width: UInt32
    /// In pixels; 0 if unknown.
    public var height: UInt32
    /// 0 if unknown.
    public var bytes: UInt64
  }

  public struct Aspects: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let format = Aspects(rawValue: 1)
    public static let size = Aspects(rawValue: 2)
    public static let bytes = Aspects(rawValue: 4)
    /// Other bytes of the same length.
    public static let content = Aspects(rawValue: 8)

    public var names: [String] {
      [(Aspects.format, "format"), (.size, "size"), (.bytes, "bytes"), (.content, "content")].filter { contains($0.0) }.map(\.1)
    }
  }

  public var change: Change
  /// The differing properties of the image; empty unless it ``Change/changed``.
  public var aspects: Aspects
  public var url: String
  package var variant: RequestVariant
  public var manifest: String
  /// 0 if it has none.
  public var line: UInt64
  public var before: End
  public var after: End
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
