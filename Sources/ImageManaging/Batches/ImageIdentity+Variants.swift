import ImageCaching
import ImagePrimitives
public import ImageURLs

extension ImageIdentity {
  /// The identities of a URL as somebody writes it, asked for in each of the ways of `context`: the plain one first, then one for each of
  /// ``LoadContext/Parts/variants``; throws for what is no URL of an image.
  public static func identities(of url: String, by context: LoadContext) throws(InvalidURL) -> [[UInt8]] {
    var normalized: [UInt8] = []
    let parts = try Array(url.utf8).withRawBytes { written throws(InvalidURL) in
      try URLNormalizer().normalize(written, relativeTo: nil, into: &normalized)
    }
    let entries = (0...UInt16(context.parts.variants.count)).map { variant in
      Entry(variant: variant, parts: parts, requestRange: normalized.indices)
    }
    return normalized.withRawBytes { bytes in
      let identities = RequestIdentities(entries, in: bytes, context: context)
      return entries.indices.map { index in identities.withIdentity(index) { Array($0) } }
    }
  }
}
