import ImageCaching
import ImagePrimitives

extension CachedProof {
  /// Reads the body of a cached image and proves it; for a coding thread.
  init(of flight: Flight, head: EntryHead, by verifier: BodyVerifier) {
    guard let cache = flight.context.cache else { preconditionFailure("only what is cached is proven again") }
    do throws(CacheError) {
      let body = try flight.identity.withRawBytes { identity throws(CacheError) in
        try cache.body(of: flight.key, identity: identity, as: head)
      }
      switch body {
      case nil, .damaged: self = .damaged
      case .bytes(let bytes):
        self = bytes.withRawBytes { bytes in
          do throws(Failure) {
            return .good(try verifier.prove(bytes, contentTypeMatch: head.contentTypeMatch))
          } catch {
            return .broken
          }
        }
      }
    } catch {
      self = .unreadable(error)
    }
  }
}
