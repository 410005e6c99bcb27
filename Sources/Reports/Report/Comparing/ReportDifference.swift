public import ImagePrimitives

/// An entry that ended in another way than in the earlier report.
public struct ReportDifference: Sendable, Equatable {
  public enum Change: String, Sendable, CaseIterable {
    /// It was good and is bad.
    case broke
    /// It was bad and is good.
    case healed
    /// It was good and is, and is another image.
    case changed
  }

  /// How the entry ended in one of the reports.
  public struct End: Sendable, Equatable {
    /// Why it was bad; nil if it was good, or that is unknown.
    public var kind: FailureKind?
    /// The HTTP status, where it was bad and a server gave one.
    public var status: Int?
    /// The image's format, where it was good.
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
    /// Other bytes, of the same number.
    public static let content = Aspects(rawValue: 8)

    public var names: [String] {
      [(Aspects.format, "format"), (.size, "size"), (.bytes, "bytes"), (.content, "content")].filter { contains($0.0) }.map(\.1)
    }
  }

  public var change: Change
  /// What of the image differs; empty unless it ``Change/changed``.
  public var aspects: Aspects
  public var url: String
  public var variant: RequestVariant
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
  /// What differs of two good ends, as far as both tell it.
  func aspects(differingFrom other: EntryFacts) -> ReportDifference.Aspects {
    var aspects: ReportDifference.Aspects = []
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
